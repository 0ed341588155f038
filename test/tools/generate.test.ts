import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { loadConfig } from '../../src/config/load.ts'
import { packageRoot } from '../../src/lib/paths.ts'
import { drifted, GENERATED } from '../../tools/generate.ts'
import { renderExample, renderJsonSchema } from '../../tools/reference/configuration.ts'
import { tempFile } from '../support/folder.ts'

const UNCOMMENTED = renderExample().replace(/^( *)#([a-z_]+:)/gm, '$1$2')

describe('generated files', () => {
  test('equal the output of `npm run generate`', async () => {
    expect((await drifted(packageRoot)).map(({ file }) => file)).toEqual([])
  })

  test('a missing or changed file is reported', async () => {
    const changed = tempFile('config.example.yaml', `${renderExample()}# changed\n`)
    const drift = await drifted(path.dirname(changed))
    expect(drift.map(({ file }) => file)).toEqual(GENERATED.map(({ file }) => file))
  })

  test.each([
    ['unchanged', renderExample()],
    ['with every key uncommented', UNCOMMENTED],
  ])('the example configuration equals the defaults, %s', (_how, text) => {
    const loaded = loadConfig(tempFile('config.yaml', text), {})
    expect({ ...loaded, given: new Set() }).toEqual(loadConfig(undefined, {}))
  })

  test('the schema for editors has exactly the keys of the example configuration', () => {
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
