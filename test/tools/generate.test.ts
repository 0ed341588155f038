import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { loadConfig } from '../../src/config/load.ts'
import { packageRoot } from '../../src/lib/paths.ts'
import { drifted, GENERATED } from '../../tools/generate.ts'
import { renderExample, renderJsonSchema } from '../../tools/reference/configuration.ts'

const UNCOMMENTED = renderExample().replace(/^( *)#([a-z_]+:)/gm, '$1$2')

describe('generated files', () => {
  test('are as their sources say; `npm run generate` writes them anew', async () => {
    expect((await drifted(packageRoot)).map(({ file }) => file)).toEqual([])
  })

  test('a missing or changed one is found', async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'service-generated-'))
    try {
      writeFileSync(path.join(folder, 'config.example.yaml'), `${renderExample()}# changed\n`)
      expect((await drifted(folder)).map(({ file }) => file)).toEqual(GENERATED.map(({ file }) => file))
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })

  test.each([
    ['as it is', renderExample()],
    ['with every key uncommented', UNCOMMENTED],
  ])('the example file is the defaults, %s', (_how, text) => {
    const folder = mkdtempSync(path.join(tmpdir(), 'service-generated-'))
    try {
      const file = path.join(folder, 'config.yaml')
      writeFileSync(file, text)
      expect(loadConfig(file, {})).toEqual(loadConfig(undefined, {}))
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })

  test('the editor schema knows every key of the example file, and no other', () => {
    const known = (schema: Schema, at = ''): string[] =>
      Object.entries(schema.properties ?? {}).flatMap(([name, inner]) =>
        inner.properties ? known(inner, `${at}${name}.`) : [`${at}${name}`],
      )
    const written = (value: object, at = ''): string[] =>
      Object.entries(value).flatMap(([name, inner]) =>
        inner !== null && typeof inner === 'object' && !Array.isArray(inner)
          ? written(inner as object, `${at}${name}.`)
          : [`${at}${name}`],
      )
    const schema = JSON.parse(renderJsonSchema()) as Schema
    expect(known(schema)).toEqual(written(parse(UNCOMMENTED) as object))
    expect(schema.additionalProperties).toBe(false)
  })
})

interface Schema {
  properties?: Record<string, Schema>
  additionalProperties?: boolean
}
