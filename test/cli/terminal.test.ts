import { afterEach, expect, test, vi } from 'vitest'
import { show, tableOf } from '../../src/cli/terminal.ts'

const CLIENTS = [
  { id: 'c_1', client_name: 'Notes', status: 'active', grant_types: ['a', 'b'], uri: 'https://notes.example.com/cb' },
  { id: 'c_2', client_name: 'A name that is much longer than all the others', status: 'suspended', uri: '' },
]
const FIRST = ['client_name', 'status']
const plain = { width: 80, colors: false, first: FIRST }

afterEach(() => vi.restoreAllMocks())

test('a table has the important columns first, and no line is wider than the terminal', () => {
  for (const width of [20, 40, 60, 80, 200]) {
    const lines = tableOf(CLIENTS, { ...plain, width })
    expect(lines[0]).toMatch(/^client_name/)
    expect(lines).toHaveLength(3)
    for (const line of lines) expect(line.length, line).toBeLessThanOrEqual(width)
  }
})

test('a long value is shortened with an ellipsis, and the columns are aligned', () => {
  expect(tableOf(CLIENTS, { ...plain, width: 60 })).toEqual([
    'client_name                               status     id',
    'Notes                                     active     c_1',
    'A name that is much longer than all the…  suspended  c_2',
  ])
})

test('without a width every member is shown and nothing is shortened', () => {
  const [header, , second] = tableOf(CLIENTS, { ...plain, width: Number.POSITIVE_INFINITY })
  expect(header?.split(/ {2,}/)).toEqual(['client_name', 'status', 'id', 'grant_types', 'uri'])
  expect(second).toContain('A name that is much longer than all the others')
})

test('characters of two columns are counted as two', () => {
  const [, wide, narrow] = tableOf(
    [
      { name: '日本', x: 'a' },
      { name: 'abcd', x: 'b' },
    ],
    { ...plain, first: [] },
  )
  expect([wide, narrow]).toEqual(['日本  a', 'abcd  b'])
})

test('control characters of a name do not reach the terminal', () => {
  const [, line] = tableOf([{ name: 'a\x1b[31mb\nc\u202ed' }], plain)
  expect(line).toBe('a\ufffd[31mb\ufffdc\ufffdd')
})

test('only colors show states, and they do not change the alignment', () => {
  const lines = tableOf(CLIENTS, { ...plain, colors: true })
  expect(lines[1]).toContain('\x1b[32mactive')
  expect(lines[2]).toContain('\x1b[31msuspended')
  const uncolored = lines.map((line) => line.replace(/\x1b\[\d+m/g, '').trimEnd())
  expect(uncolored).toEqual(tableOf(CLIENTS, plain))
})

test('an empty list is one sentence', () => {
  expect(tableOf([], plain)).toEqual(['The list is empty.'])
})

/** What is printed to a terminal, or to a pipe. */
function printed(isTTY: boolean, answer: unknown, options: Partial<Parameters<typeof show>[1]> = {}): string {
  const { stdout } = process
  const before = Object.getOwnPropertyDescriptor(stdout, 'isTTY')
  const write = vi.spyOn(stdout, 'write').mockReturnValue(true)
  Object.defineProperty(stdout, 'isTTY', { value: isTTY, configurable: true })
  try {
    show(answer, { env: {}, ...options })
    return write.mock.calls.map(([text]) => String(text)).join('')
  } finally {
    write.mockRestore()
    if (before) Object.defineProperty(stdout, 'isTTY', before)
    else Reflect.deleteProperty(stdout, 'isTTY')
  }
}

test('a pipe gets key=value lines without colors, unless a table is asked for', () => {
  expect(printed(false, CLIENTS)).toMatch(/^id=c_1\nclient_name=Notes\n/)
  expect(printed(false, CLIENTS, { output: 'wide', first: FIRST })).toMatch(/^client_name {2,}status/)
})

test('a terminal gets a table, and --json and --output text do as elsewhere', () => {
  expect(printed(true, CLIENTS, { first: FIRST })).toContain('client_name')
  expect(printed(true, CLIENTS, { first: FIRST })).not.toContain('client_name=')
  expect(JSON.parse(printed(true, CLIENTS, { json: true }))).toEqual(CLIENTS)
  expect(printed(true, CLIENTS, { output: 'text' })).toBe(printed(false, CLIENTS))
})

test('a terminal gets colors, except with NO_COLOR or when it is dumb', () => {
  expect(printed(true, CLIENTS)).toContain('\x1b[')
  for (const env of [{ NO_COLOR: '1' }, { TERM: 'dumb' }]) expect(printed(true, CLIENTS, { env })).not.toContain('\x1b')
})

test('one item is shown with whole values, because a secret may be shown only once', () => {
  const client_secret = 's'.repeat(200)
  expect(printed(true, { client_id: 'c_1', client_secret })).toContain(client_secret)
})
