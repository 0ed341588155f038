// Every command that the documentation shows is run, in order, and must print the output that is shown below it.
// A command that cannot be run here has a comment above it with the reason. CONTRIBUTING.md says how to write one.
import { execFileSync } from 'node:child_process'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { loadConfig } from '../../src/config/load.ts'
import { go, python, type Toolchain } from '../interop/toolchain.ts'
import { type Block, type Doc, docs, isBlock, parse } from './markdown.ts'
import { isShown } from './output.ts'
import { isRun, isSettings, runDoc } from './shell.ts'

/** The reasons for blocks that are not run, with their number. A new one needs a decision, which is recorded here. */
const NOT_RUN: Readonly<Record<string, number>> = {
  'installs packages': 3,
  'the host is an example': 1,
  'needs Docker': 1,
  'needs a Kubernetes cluster': 2,
  'needs a SPIRE server': 1,
  'needs OpenBao or Vault': 1,
  'needs root': 4,
  'needs systemd': 2,
  'starts a second service': 7,
  'takes minutes': 5,
  'test/examples/approval.test.ts runs it': 2,
  'test/tools/package.test.ts runs it': 1,
}

/** The tool chain that a document requires with `needs:`. Without it the document is skipped, with one line that says why. */
const toolchains: Record<string, Toolchain> = { python: await python('mcp.txt'), go: await go() }

const shBlocks = (doc: Doc): Block[] => doc.steps.filter(isBlock).filter(({ lang }) => lang === 'sh')
const where = (doc: Doc, { line }: { line: number }) => `${doc.file}:${line}`

/** The blocks with the expected output of the commands above them. */
function shownIn({ steps }: Doc): { shown: Block; of: number }[] {
  let of = 0
  return steps.flatMap((step) => {
    if (isRun(step)) of = step.line
    return isBlock(step) && / output$/.test(step.info) ? [{ shown: step, of }] : []
  })
}

describe.concurrent('command blocks of documents', () => {
  test.for(
    docs
      .filter(({ steps }) => steps.some((step) => isBlock(step) && isRun(step)))
      .map((doc) => [doc.file, doc] as const),
  )('the commands of %s print what the page shows', { timeout: 240_000 }, async ([file, doc], { skip }) => {
    const toolchain = doc.needs === undefined ? { command: [] } : toolchains[doc.needs]
    if (!toolchain || 'missing' in toolchain) return skip(toolchain?.missing ?? `nobody knows ${doc.needs}`)
    const [program] = toolchain.command
    const { code, blocks, stderr } = await runDoc(doc, program && path.dirname(program))
    expect(code, `${file}:${blocks.at(-1)?.line}\n${stderr}${blocks.at(-1)?.stdout}`).toBe(0)
    for (const { shown, of } of shownIn(doc)) {
      const { stdout = '' } = blocks.find(({ line }) => line === of) ?? {}
      expect(isShown(shown.lang, shown.text, stdout), `${where(doc, shown)}: it printed\n${stdout}`).toBe(true)
    }
  })
})

describe('blocks', () => {
  test('command blocks are ```sh', () => {
    const others = docs.flatMap((doc) =>
      doc.steps
        .filter(isBlock)
        .filter(({ lang }) => ['bash', 'shell', 'console', 'zsh'].includes(lang))
        .map((block) => where(doc, block)),
    )
    expect(others).toEqual([])
  })

  test('all blocks are run, except those with a reason', () => {
    const all = docs.flatMap(shBlocks)
    const counts: Record<string, number> = {}
    for (const { notRun } of all) if (notRun !== undefined) counts[notRun] = (counts[notRun] ?? 0) + 1
    expect(counts).toEqual(NOT_RUN)
    expect(all.filter(isRun).length).toBeGreaterThan(40)
  })

  test('settings blocks are configurations that a service accepts', () => {
    for (const doc of docs)
      for (const { text, line } of shBlocks(doc).filter(isSettings)) {
        const script = `set -a\n${text}\nnode -p 'JSON.stringify(process.env)'`
        const env = JSON.parse(
          execFileSync('bash', ['-c', script], {
            encoding: 'utf8',
            stdio: ['ignore', 'pipe', 'inherit'],
            env: { PATH: process.env['PATH'] },
          }),
        )
        expect(() => loadConfig(undefined, env), `${doc.file}:${line}`).not.toThrow()
      }
  })

  test('output blocks follow commands that are run', () => {
    for (const doc of docs) for (const { shown, of } of shownIn(doc)) expect(of, where(doc, shown)).toBeGreaterThan(0)
  })
})

describe('the comparison', () => {
  test.each([
    ['json', '{"a":"x…","b":[1,2],"…":0}', 'made\n{"b":[1,2],"a":"xyz","c":3}\n', true],
    ['json', '{"a":"x…"}', '{"a":"xyz","c":3}\n', false],
    ['json', '{"a":1}', '{\n  "a": 2\n}\n', false],
    ['text', 'deleted=…\ndone', 'first\ndeleted=12\ndone\n', true],
    ['text', 'deleted=1', 'deleted=12\n', false],
    ['text', 'done', 'done\nfailed\n', false],
  ])('%s %s', (lang, shown, stdout, same) => expect(isShown(lang, shown, stdout)).toBe(same))

  test('directives and fences are separated from the text', () => {
    const { steps, settings } = parse(
      [
        '<!-- service: A=b -->',
        '<!-- run: x=1',
        'y=2 -->',
        '<!-- not run: needs Docker -->',
        '```sh',
        'z',
        '```',
        '```json output',
        '{}',
        '```',
      ].join('\n'),
    )
    expect(settings).toBe('A=b')
    expect(steps).toMatchObject([
      { hidden: 'x=1\ny=2' },
      { lang: 'sh', notRun: 'needs Docker' },
      { info: 'json output' },
    ])
    expect(steps.map(isRun)).toEqual([true, false, false])
  })
})
