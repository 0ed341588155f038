import { describe, expect, test } from 'vitest'
import { importFaults, importsOf } from '../../tools/layers.ts'

const graph = (edges: Record<string, string[]>) => new Map(Object.entries(edges))

describe('the import rules', () => {
  test('a folder may import from folders to its left', () => {
    expect(
      importFaults(
        graph({ 'src/oauth/tokens/issue.ts': ['src/lib/id.ts', 'src/context.ts', 'src/oauth/tokens/dpop.ts'] }),
      ),
    ).toEqual([])
  })

  test.each([
    ['src/store/clients/clients.ts', 'src/oauth/tokens/issue.ts'],
    ['src/http/router.ts', 'src/store/index.ts'],
    ['src/context.ts', 'src/broker/renew.ts'],
    ['src/endpoints/token.ts', 'src/admin/people/users.ts'],
    ['src/cli/commands.ts', 'bench/cli/bench.ts'],
    ['src/admin/index.ts', 'ui/lib/types.ts'],
  ])('%s may not import %s', (file, target) => {
    expect(importFaults(graph({ [file]: [target] }))).toEqual([`${file} imports ${target}, which is not to its left`])
  })

  test('a circle is reported with the files on it', () => {
    const [a, b, c] = ['bench/a.ts', 'bench/b.ts', 'bench/c.ts']
    expect(importFaults(graph({ [a]: [b], [b]: [c], [c]: [a] }))).toEqual([
      `a circle of imports: ${a} -> ${b} -> ${c} -> ${a}`,
    ])
  })

  test('a new folder needs a layer', () => {
    expect(() => importFaults(graph({ 'src/rooms/a.ts': ['src/lib/id.ts'] }))).toThrow('rooms has no layer')
  })

  test('imports of types, imports over several lines and dynamic imports count', () => {
    const text =
      "import type { A } from './a.ts'\nimport {\n  b,\n} from '../lib/b.ts'\nexport { c } from './c.ts'\nimport fs from 'node:fs'\nawait import('./d.ts')\n"
    expect(importsOf('src/oauth/x.ts', text)).toEqual([
      'src/oauth/a.ts',
      'src/lib/b.ts',
      'src/oauth/c.ts',
      'src/oauth/d.ts',
    ])
  })
})
