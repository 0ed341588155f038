// Every command that the documentation shows is run, in the order in which it stands there, and must do what is shown below it.
// What cannot be run here says so in a comment above it, with the reason. CONTRIBUTING.md says how to write one.
import { execFileSync } from 'node:child_process'
import { describe, expect, test } from 'vitest'
import { loadConfig } from '../../src/config/load.ts'
import { type Block, type Doc, docs, isBlock, parse } from './markdown.ts'
import { isShown } from './output.ts'
import { isRun, isSettings, runDoc } from './shell.ts'

/** Why a block is not run. */
const REASONS = [
  'is what runs the tests',
  'installs packages',
  'needs a cluster',
  'needs Docker',
  'needs OpenBao or Vault',
  'needs PostgreSQL tools',
  'needs Prometheus',
  'needs systemd',
  'takes minutes',
]

const shBlocks = (doc: Doc): Block[] => doc.steps.filter(isBlock).filter(({ lang }) => lang === 'sh')
const where = (doc: Doc, { line }: { line: number }) => `${doc.file}:${line}`

/** The blocks that show what the commands above them print. */
function shownIn({ steps }: Doc): { shown: Block; of: number }[] {
  let of = 0
  return steps.flatMap((step) => {
    if (isRun(step)) of = step.line
    return isBlock(step) && / output$/.test(step.info) ? [{ shown: step, of }] : []
  })
}

describe.concurrent('the commands of', () => {
  test.for(
    docs
      .filter(({ steps }) => steps.some((step) => isBlock(step) && isRun(step)))
      .map((doc) => [doc.file, doc] as const),
  )('%s do what is said', { timeout: 240_000 }, async ([file, doc]) => {
    const { code, blocks, stderr } = await runDoc(doc)
    expect(code, `${file}:${blocks.at(-1)?.line}\n${stderr}${blocks.at(-1)?.stdout}`).toBe(0)
    for (const { shown, of } of shownIn(doc)) {
      const { stdout = '' } = blocks.find(({ line }) => line === of) ?? {}
      expect(isShown(shown.lang, shown.text, stdout), `${where(doc, shown)}: it printed\n${stdout}`).toBe(true)
    }
  })
})

describe('blocks', () => {
  test('of commands are ```sh, and those that are not run say why', () => {
    const faults = docs.flatMap((doc) =>
      doc.steps.filter(isBlock).flatMap((block) => {
        if (['bash', 'shell', 'console', 'zsh'].includes(block.lang)) return [`${where(doc, block)}: write sh`]
        if (block.notRun === undefined || REASONS.includes(block.notRun)) return []
        return [`${where(doc, block)}: not run: ${block.notRun}; write one of ${REASONS.join(', ')}`]
      }),
    )
    expect(faults).toEqual([])
  })

  test('most are run', ({ annotate }) => {
    const all = docs.flatMap((doc) => shBlocks(doc).map((block) => ({ doc, block })))
    const left = all.filter(({ block }) => block.notRun !== undefined)
    for (const { doc, block } of left) void annotate(`${where(doc, block)} is not run: ${block.notRun}`)
    expect(left.length).toBeLessThan(all.length / 4)
  })

  test('of settings are a configuration that a service accepts', () => {
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

  test('of output stand below commands that are run', () => {
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

  test('directives and fences are told apart from the text', () => {
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
