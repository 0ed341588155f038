import { expect, test } from 'vitest'
import { newNamed } from '../../src/lib/named.ts'

test('a new object has no values, and any name can be set', () => {
  const values = newNamed()
  for (const name of ['constructor', '__proto__', 'toString', 'hasOwnProperty', 'valueOf']) {
    expect(name in values).toBe(false)
    values[name] = name
    expect(values[name]).toBe(name)
  }
  expect(Object.keys(values)).toEqual(['constructor', '__proto__', 'toString', 'hasOwnProperty', 'valueOf'])
  expect('constructor' in newNamed()).toBe(false)
})
