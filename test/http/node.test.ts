// The reference engine, tested by the rules of both engines.
import { expect, test } from 'vitest'
import { openNode } from '../../src/http/node.ts'
import { engineLife } from './engine_life.ts'
import { get, openBench, post } from './engine_routes.ts'
import { engineRules } from './engine_rules.ts'

engineRules(openNode)
engineLife(openNode)

test('a request that the parser refuses is answered with 400', async () => {
  const bench = await openBench(openNode)
  const twoLengths = post('/echo', 'content-length: 3\r\ncontent-length: 0\r\n', 'abc')
  const answer = await bench.ask(twoLengths)
  expect([answer.status, JSON.parse(answer.body)]).toMatchObject([400, { error: 'invalid_request', status: 400 }])
  expect(bench.front.engine).toBe('node:http')
  await bench.front.close(0)
})

test('a query that is longer than the parser accepts is answered with a problem document', async () => {
  const bench = await openBench(openNode)
  const wire = (await bench.wire()).send(get(`/head?q=${'x'.repeat(70_000)}`))
  const answer = await wire.answer()
  expect([answer.status, answer.headers['content-type']]).toEqual([431, ['application/problem+json']])
  expect(JSON.parse(answer.body)).toMatchObject({
    error: 'invalid_request',
    error_description: 'the head of the request is too large',
    title: 'Request Header Fields Too Large',
    request_id: expect.any(String),
  })
  await wire.closed()
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
