import { expect, test } from 'vitest'
import { newNamed } from '../../src/lib/named.ts'

test('nothing is there before, and every name is a name', () => {
  const values = newNamed()
  for (const name of ['constructor', '__proto__', 'toString', 'hasOwnProperty', 'valueOf']) {
    expect(name in values).toBe(false)
    values[name] = name
    expect(values[name]).toBe(name)
  }
  expect(Object.keys(values)).toEqual(['constructor', '__proto__', 'toString', 'hasOwnProperty', 'valueOf'])
  expect('constructor' in newNamed()).toBe(false)
})
