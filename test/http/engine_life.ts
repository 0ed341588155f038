// Start, deadlines and shutdown of a listener of either engine.
import { describe, expect, test } from 'vitest'
import { pause, type Wire } from '../support/wire.ts'
import { type Bench, get, type OpenEngine, openBench, post, postText } from './engine_routes.ts'

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

  describe('incomplete bodies', () => {
    test('incomplete bodies share a memory limit: beyond it 503 is answered at once, and complete bodies are served', async () => {
      await during(
        async (bench) => {
          const piece = post('/echo', 'content-length: 1000\r\n', 'x'.repeat(900))
          const slow = await Promise.all([1, 2, 3].map(async () => (await bench.wire()).send(piece)))
          await expect.poll(() => slow.filter(({ text }) => text !== '').length, { timeout: 5000 }).toBe(1)
          const refused = slow.find(({ text }) => text !== '') as Wire
          const [whole, gone] = slow.filter((wire) => wire !== refused) as [Wire, Wire]
          const answer = await refused.answer()
          expect(answer).toMatchObject({ status: 503, headers: { 'retry-after': ['1'] } })
          expect(JSON.parse(answer.body).error).toBe('temporarily_unavailable')
          expect((await bench.ask(postText('/echo', 'y'.repeat(1000)))).status).toBe(200)

          expect((await whole.send('x'.repeat(100)).answer()).status).toBe(200)
          gone.reset()
          const both = async () => {
            const wires = await Promise.all([1, 2].map(async () => (await bench.wire()).send(piece)))
            await pause(20)
            const answers = await Promise.all(wires.map((wire) => wire.send('x'.repeat(100)).answer()))
            for (const wire of wires) wire.leave()
            return answers.map(({ status }) => status)
          }
          await expect.poll(both, { timeout: 5000 }).toEqual([200, 200])
          expect(await both(), 'what was held is free again').toEqual([200, 200])
        },
        { bodyRoomBytes: 2000 },
      )
    })
  })

  test('an answer without reading the body is sent, and the connection is kept', async () => {
    const held = { status: 503, headers: { 'retry-after': '1' }, body: 'held' }
    await during(
      async (bench) => {
        const wire = (await bench.wire()).send(postText('/x', 'body'))
        expect(await wire.answer()).toMatchObject({ status: 503, body: 'held' })
        wire.send(post('/x', 'content-length: 4\r\n'))
        await pause(10)
        expect(await wire.send('body').answer()).toMatchObject({ status: 503, body: 'held' })
        const gone = (await bench.wire()).send(postText('/x', 'body'))
        await pause(5)
        gone.reset()
        expect(await wire.send(postText('/x', '')).answer()).toMatchObject({ status: 503 })
        wire.leave()
      },
      { accept: () => pause(40).then(() => ({ ...held, headers: { ...held.headers } })) },
    )
  })

  describe('listening', () => {
    test('an address in use is an error that names it', async () => {
      await during(async (bench) => {
        await expect(open(bench.options)).rejects.toMatchObject({
          code: 'EADDRINUSE',
          message: expect.stringContaining(`cannot listen on :${bench.port}`),
        })
        expect((await bench.ask(get('/hello'))).status).toBe(200)
      })
    })

    test('an address of one interface is served only there', async () => {
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

    test('a body that takes longer than the read timeout is aborted, at any rate of arrival', async () => {
      await during(async (bench) => {
        const wire = (await bench.wire()).send(post('/echo', 'content-length: 1000\r\n'))
        const trickle = setInterval(() => wire.send('x'), 100)
        await wire.closed(4000)
        clearInterval(trickle)
        expect(wire.text).not.toContain('HTTP/1.1 2')
        expect(bench.handled).toEqual([])
      }, short)
    })

    test('a slow body is aborted although an earlier request still waits for its answer', async () => {
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

    test('an answer that takes longer than the write timeout is aborted', async () => {
      await during(async (bench) => {
        const wire = (await bench.wire()).send(get('/never'))
        await wire.closed(5000)
        expect(wire.text).toBe('')
      }, short)
    })
  })

  describe('closing', () => {
    test('on shutdown a request in flight is answered, no new one is accepted, and close() resolves then', async () => {
      const bench = await openBench(open)
      const wire = (await bench.wire()).send(get('/later'))
      await pause(50)
      const closed = bench.front.close(600_000)
      await expect(bench.wire()).rejects.toThrow()
      expect((await wire.answer()).body).toBe('later')
      await closed
      await wire.closed()
    })

    test('on shutdown an idle connection is closed', async () => {
      const bench = await openBench(open)
      const wire = await bench.wire()
      await wire.send(get('/hello')).answer()
      await bench.front.close(1000)
      await wire.closed()
    })

    test('on shutdown requests that take longer than the wait are aborted', async () => {
      const bench = await openBench(open)
      const wire = (await bench.wire()).send(get('/never'))
      await pause(50)
      await bench.front.close(200)
      await wire.closed()
    })

    test('after shutdown the address is free', async () => {
      const bench = await openBench(open)
      await bench.front.close(100)
      const again = await open(bench.options)
      expect((await bench.ask(get('/hello'))).status).toBe(200)
      await again.close(100)
    })
  })
}
