// The Markdown that readers get, taken apart: fenced blocks with the directives above them, headings, links, words in code.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { packageRoot } from '../../src/lib/paths.ts'

export interface Block {
  /** The language, and whatever follows it: `json output`. */
  lang: string
  info: string
  text: string
  /** Of its first line, from 1. */
  line: number
  /** What the comment `not run: …` above it says. */
  notRun?: string
}
/** Commands that readers do not see: what stands in a comment `run: …`. */
export interface Hidden {
  hidden: string
  line: number
}

export interface Doc {
  /** Relative to the project, with slashes. */
  file: string
  text: string
  /** In the order of the text. */
  steps: (Block | Hidden)[]
  /** Without what is in fences. */
  prose: string
  /** Settings of the service that its commands run against: what stands in the comment `service: NAME=value …`. */
  settings?: string
  /** The tool chain that its commands need beside Node: what stands in the comment `needs: …`. */
  needs?: string
}

const GENERATED = /^docs\/reference\/|^docs\/security\/(attacks|conformance)\.md$|^CHANGELOG\.md$/

/** Every Markdown file of the repository. */
export const docs: readonly Doc[] = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '*.md'], {
  cwd: packageRoot,
  encoding: 'utf8',
})
  .split('\n')
  .filter((file) => file !== '')
  .sort()
  .map(readDoc)

/** Those that people write, in which every name must be right: history may name what is gone. */
export const written = docs.filter(({ file }) => !GENERATED.test(file) && !file.startsWith('docs/decisions/'))

function readDoc(file: string): Doc {
  const text = readFileSync(path.join(packageRoot, file), 'utf8')
  return { file, text, ...parse(text) }
}

/** Takes a text apart. */
export function parse(text: string): Pick<Doc, 'steps' | 'prose' | 'settings' | 'needs'> {
  const steps: Doc['steps'] = []
  const prose: string[] = []
  let settings: string | undefined
  let needs: string | undefined
  let notRun: string | undefined
  const lines = text.split('\n')
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i] as string
    const [, indent = '', fence, info = ''] = /^( *)(```+)(.*)$/.exec(line) ?? []
    if (fence !== undefined) {
      const end = lines.findIndex((each, at) => at > i && each.trim() === fence)
      if (end < 0) throw new Error(`line ${i + 1}: the fence is never closed`)
      const inside = lines.slice(i + 1, end).map((each) => (each.startsWith(indent) ? each.slice(indent.length) : each))
      const [lang = ''] = info.trim().split(' ')
      steps.push({ lang, info: info.trim(), text: inside.join('\n'), line: i + 2, notRun })
      notRun = undefined
      i = end
      continue
    }
    const comment = /^ *<!-- (not run|run|service|needs):/.exec(line)?.[1]
    if (comment === undefined) {
      prose.push(line)
      continue
    }
    const last = lines.findIndex((each, at) => at >= i && each.includes('-->'))
    const said = lines
      .slice(i, last + 1)
      .join('\n')
      .replace(/^ *<!-- [a-z ]+:/, '')
      .replace(/-->\s*$/, '')
      .trim()
    if (comment === 'run') steps.push({ hidden: said, line: i + 1 })
    else if (comment === 'service') settings = said
    else if (comment === 'needs') needs = said
    else notRun = said
    i = last
  }
  return { steps, prose: prose.join('\n'), settings, needs }
}

export const isBlock = (step: Block | Hidden): step is Block => 'lang' in step
export const blocksOf = ({ steps }: Pick<Doc, 'steps'>, lang: string): Block[] =>
  steps.filter(isBlock).filter((each) => each.lang === lang)

/** What stands between backticks in the prose. */
export const codeIn = ({ prose }: Doc): string[] => [...prose.matchAll(/`([^`\n]+)`/g)].map(([, code = '']) => code)

/** The anchors of the headings, as GitHub makes them. */
export function anchorsOf({ prose }: Pick<Doc, 'prose'>): Set<string> {
  const anchors = new Set<string>()
  for (const [, heading = ''] of prose.matchAll(/^#{1,6} +(.+?) *$/gm)) {
    const plain = heading
      .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    const slug = plain.replaceAll(' ', '-')
    let [anchor, n] = [slug, 0]
    while (anchors.has(anchor)) anchor = `${slug}-${++n}`
    anchors.add(anchor)
  }
  return anchors
}

/** Where the links and images lead, without the ones to other hosts. */
export const linksOf = ({ prose }: Pick<Doc, 'prose'>): string[] =>
  [...prose.replace(/`[^`\n]*`/g, '').matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, to = '']) => to)
    .filter((to) => !/^[a-z]+:/.test(to))
