// The fast engine, by the rules of both; and what happens where no native build loads.
import { expect, test } from 'vitest'
import { loadNative, openUws } from '../../src/http/uws.ts'
import { engineLife } from './engine_life.ts'
import { get, openBench } from './engine_routes.ts'
import { engineRules } from './engine_rules.ts'

const build = loadNative()

if (build) {
  engineRules(openUws)
  engineLife(openUws)

  test('the engine names the build that was loaded', async () => {
    const { front } = await openBench(openUws)
    expect(front.engine).toBe(build.name)
    expect(front.engine).toMatch(/^uWebSockets\.js 20\.\d+$/)
    await front.close(0)
  })

  test('an answer that streams is a fault of the program here: only the admin listener has some', async () => {
    const bench = await openBench(openUws)
    expect((await bench.ask(get('/lines'))).status).toBe(500)
    expect((await bench.ask(get('/hello'))).body).toBe('hello')
    await bench.front.close(0)
  })
} else
  test(`no native build of uWebSockets.js loads on ${process.platform} ${process.arch}, and openUws says so`, async () => {
    await expect(openBench(openUws)).rejects.toThrow('no native build of uWebSockets.js loads on this platform')
  })
