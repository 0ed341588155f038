// The fast engine, tested by the rules of both engines; and the error when no native build loads.
import { expect, test } from 'vitest'
import { loadNative, openUws } from '../../src/http/uws.ts'
import { engineLife } from './engine_life.ts'
import { get, openBench } from './engine_routes.ts'
import { engineRules } from './engine_rules.ts'

const build = loadNative()

if (build) {
  engineRules(openUws)
  engineLife(openUws)

  test('the engine names its native build', async () => {
    const { front } = await openBench(openUws)
    expect(front.engine).toBe(build.name)
    expect(front.engine).toMatch(/^uWebSockets\.js 20\.\d+$/)
    await front.close(0)
  })

  test('a streamed answer throws, because only the admin listener streams', async () => {
    const bench = await openBench(openUws)
    expect((await bench.ask(get('/lines'))).status).toBe(500)
    expect((await bench.ask(get('/hello'))).body).toBe('hello')
    await bench.front.close(0)
  })
} else
  test(`no native build of uWebSockets.js loads on ${process.platform} ${process.arch}, and openUws() rejects with that message`, async () => {
    await expect(openBench(openUws)).rejects.toThrow('no native build of uWebSockets.js loads on this platform')
  })
