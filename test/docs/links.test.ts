// Every relative link of the Markdown leads to a file of the repository, every anchor to a heading.
import { existsSync, readdirSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { packageRoot } from '../../src/lib/paths.ts'
import { anchorsOf, docs, linksOf, parse } from './markdown.ts'

const faultsOf = (file: string, to: string): string[] => {
  const [target = '', anchor] = to.split('#')
  const at = target === '' ? file : path.posix.normalize(path.posix.join(path.posix.dirname(file), target))
  if (at.startsWith('..') || !existsSync(path.join(packageRoot, at))) return [`${file}: ${to} is not there`]
  if (anchor === undefined) return []
  const doc = docs.find((each) => each.file === at)
  return doc && anchorsOf(doc).has(anchor) ? [] : [`${file}: ${to} is no heading`]
}

test('every relative link points to a file, and its anchor to a heading', () => {
  expect(docs.flatMap((doc) => linksOf(doc).flatMap((to) => faultsOf(doc.file, to)))).toEqual([])
})

test('every page of docs/ is reachable from README.md', () => {
  const reached = new Set<string>()
  const visit = (file: string) => {
    if (reached.has(file)) return
    reached.add(file)
    const doc = docs.find((each) => each.file === file)
    for (const to of doc ? linksOf(doc) : [])
      visit(path.posix.normalize(path.posix.join(path.posix.dirname(file), to.split('#')[0] || path.basename(file))))
  }
  visit('README.md')
  const pages = docs.map(({ file }) => file).filter((file) => file.startsWith('docs/'))
  const isListed = (file: string) => !/^docs\/(decisions|reference)\//.test(file)
  expect(pages.filter((file) => isListed(file) && !reached.has(file))).toEqual([])
})

test('bench/results contains only reports that a document cites, as JSON', () => {
  const cited = docs.map(({ prose }) => prose).join('\n')
  const kept = readdirSync(path.join(packageRoot, 'bench/results')).filter((name) => !/^README|\.html$/.test(name))
  expect(kept.length).toBeGreaterThan(0)
  expect(kept.filter((name) => !name.endsWith('.json') || !cited.includes(name))).toEqual([])
})

test('a broken link and a missing anchor are found', () => {
  const { prose } = parse(
    '# A b\n\n[x](../nowhere.md) `[y](z.md)` [z](https://example.com)\n\n```sh\n[w](w.md)\n```\n## A b\n',
  )
  expect(linksOf({ prose })).toEqual(['../nowhere.md'])
  expect([...anchorsOf({ prose })]).toEqual(['a-b', 'a-b-1'])
  expect(faultsOf('docs/x.md', '../nowhere.md')).toEqual(['docs/x.md: ../nowhere.md is not there'])
  expect(faultsOf('docs/x.md', '../README.md#nowhere')).toEqual(['docs/x.md: ../README.md#nowhere is no heading'])
  expect(faultsOf('docs/x.md', '../README.md#start')).toEqual([])
})
