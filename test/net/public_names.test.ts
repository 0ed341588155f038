// Names that strangers choose, asked of a real name server by the real c-ares.
import dns from 'node:dns'
import { readFileSync } from 'node:fs'
import { afterEach, expect, onTestFinished, test, vi } from 'vitest'
import { codeOf } from '../../src/lib/error.ts'
import { createPublicNames } from '../../src/net/public_names.ts'
import { askOnly, NameServer } from '../support/name_server.ts'
import { refusalOf } from '../support/thrown.ts'

afterEach(() => {
  vi.restoreAllMocks()
})

/** The only name server of this test. */
async function startNames(): Promise<NameServer> {
  const server = await NameServer.start()
  onTestFinished(() => server.close())
  askOnly(server)
  return server
}

const lookUp = createPublicNames({ readsHosts: () => false })
const codeFor = (name: string) =>
  lookUp(name).then(
    () => 'found',
    (error: unknown) => codeOf(error),
  )
/** A name of this machine that only /etc/hosts has. */
const [address = '', ownName = ''] =
  readFileSync('/etc/hosts', 'utf8')
    .split('\n')
    .map((line) => line.split('#')[0]?.trim().split(/\s+/) ?? [])
    .find(([, name]) => name !== undefined && !/localhost|^ip6-/.test(name)) ?? []

test('IPv4 and IPv6 addresses are resolved, without the resolver of the system', async () => {
  const server = await startNames()
  const bySystem = vi.spyOn(dns, 'lookup')
  server.names.set('app.test', ['192.0.2.1', '2001:db8::1', '192.0.2.2'])
  expect(await lookUp('app.test')).toEqual(['192.0.2.1', '192.0.2.2', '2001:db8::1'])
  server.names.set('four.test', ['192.0.2.1'])
  expect(await lookUp('four.test')).toEqual(['192.0.2.1'])
  expect(await codeFor('none.test')).toBe('ENOTFOUND')
  expect(bySystem).not.toHaveBeenCalled()
})

test('concurrent lookups of a name share one query, and a later lookup sends another one', async () => {
  const server = await startNames()
  server.names.set('app.test', ['192.0.2.1'])
  await Promise.all([lookUp('app.test'), lookUp('app.test'), lookUp('app.test')])
  expect(server.asked).toEqual(['app.test', 'app.test'])
  await lookUp('app.test')
  expect(server.asked.length).toBe(4)
})

test('localhost resolves to loopback without a query, in every spelling', async () => {
  const server = await startNames()
  for (const name of ['localhost', 'localhost.', 'app.localhost'])
    expect(await lookUp(name)).toEqual(['127.0.0.1', '::1'])
  expect(server.asked).toEqual([])
})

test.runIf(ownName)('a name in /etc/hosts resolves only where private addresses are allowed', async () => {
  await startNames()
  expect(await codeFor(ownName)).toBe('ENOTFOUND')
  expect(await createPublicNames({ readsHosts: () => true })(ownName)).toContain(address)
})

test('a lookup times out after five seconds', async () => {
  const server = await startNames()
  server.names.set('app.test', ['192.0.2.1'])
  const timers = vi.spyOn(globalThis, 'setTimeout')
  await lookUp('app.test')
  expect(timers).toHaveBeenCalledWith(expect.any(Function), 5000)
})

test('at most 64 lookups run at once; a lookup that waits for more than two seconds is refused, and every lookup ends at the deadline', async () => {
  const server = await startNames()
  const fresh = createPublicNames({ readsHosts: () => false, deadlineMs: 2500 })
  const hung = Array.from({ length: 64 }, (_, i) =>
    fresh(`hang${i}.test`).then(
      () => 'found',
      (error: unknown) => codeOf(error),
    ),
  )
  expect((await refusalOf(() => fresh('late.test'))).reason).toBe('outbound_full')
  expect(server.asked).not.toContain('late.test')
  expect(new Set(await Promise.all(hung))).toEqual(new Set(['ECANCELLED']))
  server.names.set('late.test', ['192.0.2.1'])
  expect(await fresh('late.test')).toEqual(['192.0.2.1'])
})

test('a name server that ignores AAAA queries, or A queries, does not prevent the answer of the other type', async () => {
  const server = await startNames()
  server.names.set('app.test', ['192.0.2.1'])
  server.unanswered = 'AAAA'
  expect(await createPublicNames({ readsHosts: () => false, deadlineMs: 300 })('app.test')).toEqual(['192.0.2.1'])
})
