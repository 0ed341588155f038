// Rules of what the service knows about itself.
import { expect, test } from 'vitest'
import { newId } from '../../../src/lib/id.ts'
import { NOW } from '../../support/records.ts'
import type { Bench } from '../conformance.ts'

export function systemRules(bench: Bench): void {
  test('a setting is what was saved last, and undefined before', async () => {
    const name = newId()
    const { store } = bench
    expect(await store.findSetting({ name })).toBeUndefined()
    await store.saveSetting({ name, value: 'open', now: NOW })
    expect(await store.findSetting({ name })).toBe('open')
    await store.saveSetting({ name, value: '', now: NOW })
    expect(await store.findSetting({ name })).toBe('')
    expect(await store.findSetting({ name: newId() })).toBeUndefined()
  })

  test('issuers are remembered with the time from which they were in force; the first one always was', async () => {
    const { store, close } = await bench.open()
    expect(await store.listIssuers()).toEqual([])
    await store.saveIssuer({ issuer: 'https://a.example', now: NOW })
    await store.saveIssuer({ issuer: 'https://a.example', now: NOW + 1 })
    await store.saveIssuer({ issuer: 'https://b.example', now: NOW + 2 })
    await store.saveIssuer({ issuer: 'https://a.example', now: NOW + 3 })
    await store.saveIssuer({ issuer: 'https://c.example', now: NOW + 3 })
    expect(await store.listIssuers()).toEqual([
      { since: NOW + 3, issuer: 'https://c.example' },
      { since: NOW + 2, issuer: 'https://b.example' },
      { since: 0, issuer: 'https://a.example' },
    ])
    await close()
  })

  test('a database that answers is healthy', async () => {
    expect(await bench.store.readHealth()).toBe(true)
    expect(bench.store.driver.isHealthy()).toBe(true)
  })
}
