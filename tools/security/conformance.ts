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

const INTRO = `This page lists what the standards require of an authorization server, in our words, with the test of each requirement. If a test no longer exists,
\`npm run check\` fails. The list is our own reading of the standards, not a certification. It contains the most important requirements. It promises nothing about a requirement that it does not contain. The section
"Known differences" lists what the service does differently, and why.`

/** The page. Throws when a requirement names a test that does not exist. */
export function renderConformance(): string {
  const file = path.join(packageRoot, 'tools/security/requirements.json')
  const all = JSON.parse(readFileSync(file, 'utf8')) as Requirement[]
  const titles = testTitles()
  const open = all.filter((each) => each.open)
  return page(
    'Requirements of the standards, and their tests',
    'tools/security/requirements.json and the titles of the tests',
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
          .map(({ level, rule, held }) => [level, rule, held.map((name) => linkTo(name, titles)).join('; ')]),
      ),
    ]),
  )
}

function linkTo(name: string, titles: readonly Titled[]): string {
  const isRow = /^[A-V]\d\d$/.test(name)
  const found = titles.find(({ title }) =>
    isRow ? title.match(/\b[A-V]\d\d\b/g)?.includes(name) : title.startsWith(name),
  )
  if (!found) throw new Error(`tools/security/requirements.json names a test that does not exist: ${name}`)
  return isRow ? `[${name}](../../${found.file})` : `[${found.title}](../../${found.file})`
}
