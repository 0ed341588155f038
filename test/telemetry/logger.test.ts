// The log as it leaves the process: the built logger writes to the standard output of a process of its own.
import { spawnSync } from 'node:child_process'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { packageRoot } from '../../src/lib/paths.ts'

const OPTIONS = { level: 'debug', format: 'json', add_source: false, outputs: { stdout: true } }
const SCRIPT = `
import { openLogger } from ${JSON.stringify(path.join(packageRoot, 'dist/src/telemetry/logger.js'))}
const log = openLogger(JSON.parse(process.argv[1]))
`

/** The lines that a script, which has \`log\`, writes. */
function linesOf(script: string, options: object = {}): string[] {
  const config = JSON.stringify({ ...OPTIONS, ...options })
  const run = spawnSync(process.execPath, ['--input-type=module', '-e', SCRIPT + script, config], { encoding: 'utf8' })
  expect(run.stderr).toBe('')
  return run.stdout.split('\n').slice(0, -1)
}
const json = (lines: string[]) => lines.map((line) => JSON.parse(line) as Record<string, unknown>)

describe('JSON', () => {
  test('an event is one JSON object with time, level, message and fields', () => {
    const [line] = json(linesOf(`log.info({ request_id: 'r', status: 200 }, 'request')`))
    expect(line).toEqual({
      level: 'info',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      request_id: 'r',
      status: 200,
      msg: 'request',
    })
  })

  test('input cannot start a new line', () => {
    const lines = linesOf(`log.warn({ path: '/x\\n{"level":"info","msg":"forged"}\\u0000' }, 'a\\r\\nb')`)
    expect(lines.length).toBe(1)
    expect(json(lines)[0]).toMatchObject({ path: '/x\n{"level":"info","msg":"forged"}\0', msg: 'a\r\nb' })
  })

  test('an error is logged with its name, code, stack and causes', () => {
    const [line] = json(
      linesOf(`
        const cause = Object.assign(new Error('disk full'), { code: 'ENOSPC' })
        log.error({ err: new TypeError('cannot write', { cause }) }, 'failed')
      `),
    )
    expect(line?.err).toMatchObject({
      name: 'TypeError',
      message: 'cannot write',
      stack: expect.stringContaining('at '),
      cause: { message: 'disk full', code: 'ENOSPC' },
    })
  })

  test.each([
    ['of the system', `Object.assign(new Error('port in use'), { code: 'EADDRINUSE' })`],
    ['with a reason, such as a failed fetch', `Object.assign(new Error('no answer'), { reason: 'timeout' })`],
  ])('an error %s has no stack, because its place in the program explains nothing', (_what, error) => {
    const [line] = json(linesOf(`log.error({ err: ${error} }, 'failed')`))
    expect(line?.err).toHaveProperty('message')
    expect(line?.err).not.toHaveProperty('stack')
  })

  test('a thrown value that is not an Error is logged as text', () => {
    expect(json(linesOf(`log.error({ err: 'just text' }, 'failed')`))[0]?.err).toBe('just text')
  })
})

describe('text', () => {
  const text = { format: 'text' }

  test('an event is one line that starts with time and level', () => {
    const [line] = linesOf(`log.info({ path: '/oauth/token', ms: 1.5, ok: true, note: 'two words' }, 'request')`, text)
    expect(line).toMatch(/^\d{4}-\S+Z INFO {2}request path=\/oauth\/token ms=1\.5 ok=true note="two words"$/)
  })

  test('input can neither start a new line nor imitate a field', () => {
    const lines = linesOf(`log.warn({ user: 'a\\nWARN forged admin=true', other: 'x" y="z' }, 'one\\ntwo')`, text)
    expect(lines.length).toBe(1)
    expect(lines[0]).toContain('WARN  one\\ntwo user="a\\nWARN forged admin=true" other="x\\" y=\\"z"')
  })

  test('an event without a message is also a line', () => {
    expect(linesOf(`log.info({ a: 1 })`, text)[0]).toMatch(/INFO {3}a=1$/)
  })

  test('an error is written on the same line', () => {
    const lines = linesOf(`log.error({ err: new Error('a\\nb') }, 'failed')`, text)
    expect(lines.length).toBe(1)
    expect(lines[0]).toContain('"message":"a\\nb"')
  })
})

describe('settings', () => {
  const ALL = `for (const level of ['debug', 'info', 'warn', 'error']) log[level](level)`
  const messages = (options: object) => json(linesOf(ALL, options)).map((line) => line.msg)

  test('only events of the configured level and above are logged', () => {
    expect(messages({ level: 'debug' })).toEqual(['debug', 'info', 'warn', 'error'])
    expect(messages({ level: 'warn' })).toEqual(['warn', 'error'])
  })

  test('nothing is written when standard output is disabled', () => {
    expect(messages({ outputs: { stdout: false } })).toEqual([])
  })

  test('no line is lost when the process exits immediately', () => {
    expect(linesOf(`for (let i = 0; i < 2000; i++) log.info({ i }, 'line'); process.exit(0)`).length).toBe(2000)
  })

  test('the source location of an event is added on request', () => {
    const caller = path.join(packageRoot, 'dist/src/http/uws.js')
    expect(json(linesOf(`log.info('x')`))[0]).not.toHaveProperty('source')
    const [line] = json(
      linesOf(
        `const vm = await import('node:vm')
         vm.runInThisContext('(log) => log.info("x")', { filename: ${JSON.stringify(caller)} })(log)`,
        { add_source: true },
      ),
    )
    expect(line?.source).toMatch(/^src\/http\/uws\.ts:\d+$/)
  })
})
