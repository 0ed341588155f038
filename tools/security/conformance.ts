// docs/security/conformance.md: what the standards require, and the tests of each requirement.
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { packageRoot } from '../../src/lib/paths.ts'
import { page, table } from '../reference/markdown.ts'
import { type Titled, testTitles } from './titles.ts'

interface Requirement {
  document: string
  level: string
  rule: string
  /** Rows of the attack list, or beginnings of titles. */
  held: string[]
  /** What we do not do, and why. */
  open?: string
}

/** A public bug report about another program, whose cause would be a fault here too. */
interface Report {
  /** Repository, kind and number, as in the URL. */
  report: string
  rule: string
  held: string[]
}

const REPORTS_INTRO = `Public bug reports of clients and servers of this field, most of them about other authorization servers. Each was replayed here, or its rule was compared with a test.
The reports describe other programs, and this project does not judge them.`

const INTRO = `This page lists what the standards require of an authorization server, in our words, with the test of each requirement. If a test no longer exists,
\`npm run check\` fails. The list is our own reading of the standards, not a certification. It contains the most important requirements. It promises nothing about a requirement that it does not contain. The section
"Known differences" lists what the service does differently, and why.`

/** The page. Throws when a requirement names a test that does not exist. */
export function renderConformance(): string {
  const all = read<Requirement>('requirements.json')
  const reports = read<Report>('reports.json')
  const titles = testTitles()
  const open = all.filter((each) => each.open)
  return page(
    'Requirements of the standards, and their tests',
    'tools/security/requirements.json, reports.json and the titles of the tests',
    INTRO,
    `${all.length} requirements, ${open.length} with a known difference.`,
    '## Known differences',
    table(
      ['Document', 'Requirement', 'What the service does, and why'],
      open.map(({ document, rule, open }) => [document, rule, open ?? '']),
    ),
    ...[...new Set(all.map(({ document }) => document))].flatMap((document) => [
      `## ${document}`,
      table(
        ['Level', 'Requirement', 'Test'],
        all
          .filter((each) => each.document === document)
          .map(({ level, rule, held }) => [level, rule, linksTo(held, titles)]),
      ),
    ]),
    '## Public reports',
    REPORTS_INTRO,
    table(
      ['Report', 'Rule', 'Test'],
      reports.map(({ report, rule, held }) => [linkToReport(report), rule, linksTo(held, titles)]),
    ),
  )
}

const read = <T>(name: string): T[] =>
  JSON.parse(readFileSync(path.join(packageRoot, 'tools/security', name), 'utf8')) as T[]

const linkToReport = (report: string): string =>
  `[${report.replace(/\/(issues|pull)\//, '#')}](https://github.com/${report})`

const linksTo = (names: readonly string[], titles: readonly Titled[]): string =>
  names.map((name) => linkTo(name, titles)).join('; ')

function linkTo(name: string, titles: readonly Titled[]): string {
  const isRow = /^[A-Z]\d\d$/.test(name)
  const found = titles.find(({ title }) =>
    isRow ? title.match(/\b[A-Z]\d\d\b/g)?.includes(name) : title.startsWith(name),
  )
  if (!found) throw new Error(`tools/security names a test that does not exist: ${name}`)
  return isRow ? `[${name}](../../${found.file})` : `[${found.title}](../../${found.file})`
}
