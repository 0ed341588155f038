// Secrets of the configuration: found by name, and by nothing that copies or shows.
import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import { loadConfig } from '../../src/config/load.ts'
import { deserialise, type Secret, serialise } from '../../src/lib/secret.ts'
import type { Loggable } from '../../src/telemetry/logger.ts'
import { recordingLog } from '../support/log.ts'

const SECRET = 'a-very-secret-value-of-enough-characters'
const { config } = loadConfig(undefined, {
  SERVICE_SESSION_SECRET: SECRET,
  SERVICE_ADMIN_API_KEY: `${SECRET}-2`,
  SERVICE_STORAGE_DRIVER: 'postgres',
  SERVICE_STORAGE_POSTGRES_DSN: `postgres://u:${SECRET}@db.example.com/service`,
})

test('a secret can be read by its name', () => {
  expect(config.session.secret).toBe(SECRET)
  const { dsn } = config.storage.postgres
  expect(dsn).toContain(SECRET)
})

describe('nothing shows it', () => {
  test.each([
    ['JSON', () => JSON.stringify(config)],
    ['inspection', () => inspect(config, { depth: 10 })],
    ['a copy', () => JSON.stringify({ ...config.session, ...config.admin, ...config.storage.postgres })],
    ['a structured clone', () => inspect(structuredClone(config), { depth: 10 })],
  ])('%s', (_, show) => expect(show()).not.toContain(SECRET))

  test('the log does not show secrets when the whole configuration is logged', () => {
    const { log, lines } = recordingLog()
    log.info({ config }, 'started')
    log.info({ session: config.session, admin: config.admin }, 'started')
    expect(lines).toHaveLength(2)
    expect(JSON.stringify(lines)).not.toContain(SECRET)
  })
})

test('the compiler refuses one as a field of the log', () => {
  const isRefused: Loggable<{ secret: Secret }>['secret'] extends never ? true : false = true
  const isTaken: Loggable<{ kid: string }>['kid'] extends string ? true : false = true
  expect([isRefused, isTaken]).toEqual([true, true])
})

test('it crosses to another thread only packed, and is hidden there again', () => {
  const opened = deserialise(structuredClone(serialise(config)))
  expect(opened).toEqual(config)
  const { session, admin, storage } = opened as typeof config
  expect(session.secret).toBe(SECRET)
  expect([admin.api_key, storage.postgres.dsn]).toEqual([config.admin.api_key, config.storage.postgres.dsn])
  expect(JSON.stringify(opened)).toBe(JSON.stringify(config))
  expect(inspect(structuredClone(opened), { depth: 10 })).not.toContain(SECRET)
})
