// How a listener of either engine begins, waits and ends.
import { describe, expect, test } from 'vitest'
import { pause } from '../support/wire.ts'
import { type Bench, get, type OpenEngine, openBench, post } from './engine_routes.ts'

/** Declares the rules for listening, deadlines and closing. */
export function engineLife(open: OpenEngine): void {
  const during = async (run: (bench: Bench) => Promise<void>, more = {}) => {
    const bench = await openBench(open, more)
    try {
      await run(bench)
    } finally {
      await bench.front.close(0)
    }
  }

  describe('listening', () => {
    test('an address that is taken is an error that names it', async () => {
      await during(async (bench) => {
        await expect(open(bench.options)).rejects.toMatchObject({
          code: 'EADDRINUSE',
          message: expect.stringContaining(`cannot listen on :${bench.port}`),
        })
        expect((await bench.ask(get('/hello'))).status).toBe(200)
      })
    })

    test('an address of one interface is served on that one', async () => {
      await during(async (bench) => {
        await bench.front.close(0)
        const local = await open({ ...bench.options, address: `127.0.0.1:${bench.port}` })
        await expect(bench.wire('::1')).rejects.toThrow()
        expect((await bench.ask(get('/hello'))).status).toBe(200)
        await local.close(0)
      })
    })
  })

  describe.concurrent('deadlines', () => {
    const short = { readTimeoutMs: 1000, writeTimeoutMs: 1000 }

    test('a body that takes longer than the read time-out is cut, however it trickles', async () => {
      await during(async (bench) => {
        const wire = (await bench.wire()).send(post('/echo', 'content-length: 1000\r\n'))
        const trickle = setInterval(() => wire.send('x'), 100)
        await wire.closed(4000)
        clearInterval(trickle)
        expect(wire.text).not.toContain('HTTP/1.1 2')
        expect(bench.handled).toEqual([])
      }, short)
    })

    test('a slow body is cut although an older request still waits for its answer', async () => {
      await during(
        async (bench) => {
          const older = (await bench.wire()).send(get('/never'))
          await pause(50)
          const wire = (await bench.wire()).send(post('/echo', 'content-length: 1000\r\n'))
          const trickle = setInterval(() => wire.send('x'), 100)
          await wire.closed(4000)
          clearInterval(trickle)
          expect(older.isClosed).toBe(false)
          older.leave()
        },
        { readTimeoutMs: 1000, writeTimeoutMs: 30_000 },
      )
    })

    test('an answer that takes longer than the write time-out is cut', async () => {
      await during(async (bench) => {
        const wire = (await bench.wire()).send(get('/never'))
        await wire.closed(5000)
        expect(wire.text).toBe('')
      }, short)
    })
  })

  describe('closing', () => {
    test('a request in flight is answered, nothing new is accepted, and nobody waits longer than that', async () => {
      const bench = await openBench(open)
      const wire = (await bench.wire()).send(get('/later'))
      await pause(50)
      const closed = bench.front.close(600_000)
      await expect(bench.wire()).rejects.toThrow()
      expect((await wire.answer()).body).toBe('later')
      await closed
      await wire.closed()
    })

    test('an idle connection is ended, not served', async () => {
      const bench = await openBench(open)
      const wire = await bench.wire()
      await wire.send(get('/hello')).answer()
      await bench.front.close(1000)
      await wire.closed()
    })

    test('what takes longer than the wait is cut', async () => {
      const bench = await openBench(open)
      const wire = (await bench.wire()).send(get('/never'))
      await pause(50)
      await bench.front.close(200)
      await wire.closed()
    })

    test('the address is free afterwards', async () => {
      const bench = await openBench(open)
      await bench.front.close(100)
      const again = await open(bench.options)
      expect((await bench.ask(get('/hello'))).status).toBe(200)
      await again.close(100)
    })
  })
}
