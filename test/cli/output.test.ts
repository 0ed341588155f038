import { expect, test } from 'vitest'
import { asText } from '../../src/cli/output.ts'

test('members of an object are key=value lines', () => {
  expect(asText({ id: 'a', count: 0, on: false, none: '' })).toBe('id=a\ncount=0\non=false\nnone=')
})

test('what is not there has no line', () => {
  expect(asText({ id: 'a', gone: undefined, nothing: null })).toBe('id=a')
})

test('lists of plain values are joined by commas', () => {
  expect(asText({ grant_types: ['a', 'b'], redirect_uris: [] })).toBe('grant_types=a,b\nredirect_uris=')
})

test('members of objects and of lists of objects are named by their path', () => {
  const answer = { policy: { runtime: { client_ids: ['a', 'b'] } }, scopes: [{ name: 'x' }, { name: 'y' }] }
  expect(asText(answer)).toBe('policy.runtime.client_ids=a,b\nscopes[0].name=x\nscopes[1].name=y')
})

test('a blank line separates the items of a list, and an empty list is nothing', () => {
  expect(asText([{ id: 'a', name: 'A' }, { id: 'b' }])).toBe('id=a\nname=A\n\nid=b')
  expect(asText([])).toBe('')
})
