// Connections that the native engine keeps without an answer: the log names their peers.
import { describe, expect, test } from 'vitest'
import { connectionsOf } from '../../src/http/silent_connections.ts'
import { loadNative, openUws } from '../../src/http/uws.ts'
import { recordingLog } from '../support/log.ts'
import { get, openBench } from './engine_routes.ts'

const HEAD = '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode'

test('the table of the kernel names the peers of a port, of both families', () => {
  const table = `${HEAD}
   0: 0100007F:2328 0A01A8C0:D4F2 01 00000000:00000000 00:00000000 00000000     0        0 1 1 0
   1: 0100007F:2328 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 2 1 0
   2: 0100007F:2329 0A01A8C0:D4F3 01 00000000:00000000 00:00000000 00000000     0        0 3 1 0
   3: 0000000000000000FFFF00000100007F:2328 0000000000000000FFFF00000500000A:0BB8 01 0:0 00:0 0 0 0 4 1 0
   4: B80D0120000000000000000001000000:2328 B80D0120000000000000000002000000:0BB9 01 0:0 00:0 0 0 0 5 1 0`
  expect(connectionsOf(table, 9000).map(([, peer]) => peer)).toEqual(['192.168.1.10', '10.0.0.5', '2001:db8::2'])
})

const build = loadNative()
const tooMany = Array.from({ length: 60 }, (_, i) => `x-field-${i}: 1\r\n`).join('')

// At the same time, because each waits for the engine and the watcher.
describe.runIf(build?.isSilent && process.platform === 'linux')(
  'a request that build 20.30 cannot read',
  { concurrent: true },
  () => {
    test.each([
      ['over HTTP/1.0', 'GET /hello HTTP/1.0\r\nhost: auth.example.com\r\n\r\n'],
      ['with more than 48 header fields', get('/hello', tooMany)],
    ])('%s gets no answer, and one line in the log names the peer', { timeout: 60_000 }, async (_, request) => {
      const { log, lines } = recordingLog()
      const bench = await openBench(openUws, { log })
      const silentProbe = setInterval(async () => {
        const wire = (await bench.wire()).send(request)
        setTimeout(() => wire.leave(), 6000)
      }, 1500)
      try {
        await expect.poll(() => lines.length, { timeout: 45_000 }).toBe(1)
        expect(lines[0]).toMatchObject({ level: 40, peers: ['127.0.0.1'] })
        expect(lines[0]?.msg).toMatch(/HTTP\/1\.0.*48 header fields/)
      } finally {
        clearInterval(silentProbe)
        await bench.front.close(0)
      }
    })

    test('a peer whose requests are served, and its idle connection, are not named', { timeout: 60_000 }, async () => {
      const { log, lines } = recordingLog()
      const bench = await openBench(openUws, { log })
      const kept = await bench.wire()
      const pending = (await bench.wire()).send(get('/never'))
      try {
        // The engine closes the idle connection; the pending request goes on for longer than the watcher waits.
        kept.send(get('/hello'))
        await kept.answer()
        await kept.closed(20_000)
        await new Promise((resolve) => setTimeout(resolve, 14_000))
        expect(pending.isClosed).toBe(false)
        expect(lines).toEqual([])
      } finally {
        pending.leave()
        await bench.front.close(0)
      }
    })
  },
)
