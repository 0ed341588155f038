// The reference engine, tested by the rules of both engines.
import { expect, test } from 'vitest'
import { openNode } from '../../src/http/node.ts'
import { engineLife } from './engine_life.ts'
import { openBench, post } from './engine_routes.ts'
import { engineRules } from './engine_rules.ts'

engineRules(openNode)
engineLife(openNode)

test('a request that the parser refuses is answered with 400', async () => {
  const bench = await openBench(openNode)
  const twoLengths = post('/echo', 'content-length: 3\r\ncontent-length: 0\r\n', 'abc')
  expect((await bench.ask(twoLengths)).status).toBe(400)
  expect(bench.front.engine).toBe('node:http')
  await bench.front.close(0)
})

test('a streamed answer is sent as it is produced, and the connection serves the next request', async () => {
  const bench = await openBench(openNode)
  const url = `http://127.0.0.1:${bench.port}/lines`
  for (let round = 0; round < 2; round++) expect(await (await fetch(url)).text()).toBe('one\ntwo\nthree\n')
  const head = await fetch(url, { method: 'HEAD' })
  expect([head.status, head.headers.get('content-length'), await head.text()]).toEqual([200, null, ''])
  await bench.front.close(0)
})
