// Connections to real servers: several hosts, what a session must be, TLS, and passwords from files.
import { lookup } from 'node:dns/promises'
import { chmodSync, chownSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createSystemNames, lookUpNamesBy } from '../../src/lib/system_names.ts'
import { connectedTo, preparePostgres } from '../../src/store/postgres/client.ts'
import type { PostgresPlace } from '../../src/store/postgres/connection.ts'
import * as idp from '../net/certificate.ts'
import { tempFolder } from '../support/folder.ts'
import { freePort } from '../support/free_port.ts'
import * as local from '../support/localhost_certificate.ts'
import { type PostgresServer, startPostgres } from '../support/postgres.ts'
import { openProxy } from '../support/proxy.ts'
import { aClient, NOW } from '../support/records.ts'
import { eventually } from '../support/wire.ts'
import { openDsn } from './postgres_server.ts'

/** A server that takes changes, and one that only reads, as a standby does. */
let writer: PostgresServer
let reader: PostgresServer
let ports: { writer: string; reader: string; none: number }
const warnings: string[] = []
const note = (warning: Error) => warnings.push(warning.message)
beforeAll(async () => {
  process.on('warning', note)
  writer = await startPostgres({ mayBeShared: false })
  reader = await startPostgres({ mayBeShared: false })
  const portOf = async (server: PostgresServer) => new URL(await server.database()).port
  ports = { writer: await portOf(writer), reader: await portOf(reader), none: await freePort() }
  await admin(reader, 'ALTER SYSTEM SET default_transaction_read_only = on')
  await reload(reader)
})
afterAll(async () => {
  process.off('warning', note)
  await admin(reader, 'ALTER SYSTEM RESET default_transaction_read_only')
  await reload(reader)
  await Promise.all([writer.close(), reader.close()])
  expect(warnings).toEqual([])
})

const addressOf = (server: PostgresServer) =>
  `postgres://postgres@127.0.0.1:${server === writer ? ports.writer : ports.reader}/postgres`
const MAY_WRITE = '?options=-c%20default_transaction_read_only%3Doff'
const admin = (server: PostgresServer, text: string) => server.sql(addressOf(server) + MAY_WRITE, text)
const reload = (server: PostgresServer) => admin(server, 'SELECT pg_reload_conf(), pg_sleep(0.3)')
const ask = async (place: PostgresPlace, text: string) =>
  Object.values((await connectedTo(place, (query) => query(text)))[0] ?? {})[0]
const portOf = async (dsn: string) => String(await ask({ dsn }, 'SHOW port'))
const secured = (dsn: string) => ask({ dsn }, 'SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()')

describe('several hosts', () => {
  const hosts = () => `127.0.0.1:${ports.none},127.0.0.1:${ports.reader},127.0.0.1:${ports.writer}`
  const at = (wanted: string) => `postgres://postgres@${hosts()}/postgres?target_session_attrs=${wanted}`

  test('are tried in order until one matches target_session_attrs', async () => {
    expect(await portOf(at('any'))).toBe(ports.reader)
    expect(await portOf(at('read-write'))).toBe(ports.writer)
    expect(await portOf(at('read-only'))).toBe(ports.reader)
    expect(await portOf(at('primary'))).toBe(ports.reader)
    expect(await portOf(at('prefer-standby'))).toBe(ports.reader)
    await expect(portOf(at('standby'))).rejects.toThrow(/ECONNREFUSED.*not standby.*not standby/)
  })

  test('that are read-only make a start fail with an error that names the cause', async () => {
    const dsn = addressOf(reader)
    await expect(preparePostgres({ dsn }, NOW)).rejects.toThrow(
      /cannot execute CREATE TABLE in a read-only transaction: this server only reads .*target_session_attrs=read-write/,
    )
  })

  test('whose name is not resolved in time are each tried once', async () => {
    const asked: string[] = []
    const names = createSystemNames(async (hostname) => {
      if (hostname === 'silent.test') return new Promise(() => {})
      return (await lookup(hostname, { all: true })).map(({ address }) => address)
    }, 300)
    lookUpNamesBy((hostname) => {
      asked.push(hostname)
      return names(hostname)
    })
    const dsn = `postgres://postgres@silent.test:5432,127.0.0.1:${ports.writer}/postgres?connect_timeout=20&sslmode=prefer`
    expect(await portOf(dsn)).toBe(ports.writer)
    expect(asked).toEqual(['silent.test'])
  }, 30_000)

  test('are tried again by every connection of the pool, which so follows the writable server', async () => {
    for (const server of [writer, reader]) await preparePostgres({ dsn: await prepared(server) }, NOW)
    const both = `postgres://postgres@127.0.0.1:${ports.writer},127.0.0.1:${ports.reader}/moving?target_session_attrs=read-write`
    const { store, close } = await openDsn(both)
    const take = async (from: PostgresServer, to: PostgresServer) => {
      await admin(from, 'ALTER SYSTEM SET default_transaction_read_only = on')
      await admin(to, 'ALTER SYSTEM RESET default_transaction_read_only')
      await Promise.all([reload(from), reload(to)])
      await admin(from, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'moving'")
    }
    await take(writer, reader)
    const client = aClient()
    await eventually(() => store.createClient(client).then(yes, no))
    const moved = addressOf(reader).replace(/postgres$/, 'moving')
    expect(await ask({ dsn: moved }, 'SELECT client_id FROM clients')).toBe(client.client_id)
    await take(reader, writer)
    await close()
  })

  test('that do not answer have two seconds each', async () => {
    const silent = await openProxy(addressOf(writer))
    silent.stall()
    const place = {
      dsn: `postgres://postgres@127.0.0.1:${new URL(silent.dsn).port},127.0.0.1:${ports.writer}/postgres`,
    }
    expect(await ask(place, 'SHOW port')).toBe(ports.writer)
    silent.close()
  })

  test('after one that refuses the user are not tried', async () => {
    const dsn = `postgres://nobody-here@127.0.0.1:${ports.reader},127.0.0.1:${ports.writer}/postgres`
    await expect(portOf(dsn)).rejects.toThrow('role "nobody-here" does not exist')
  })
})

const yes = () => true
const no = () => false
const prepared = async (server: PostgresServer) => {
  await admin(server, 'CREATE DATABASE moving')
  return addressOf(server).replace(/postgres$/, 'moving') + MAY_WRITE
}

test('a connection string of keywords, and session options, are accepted', async () => {
  const dsn = `host=127.0.0.1 port=${ports.writer} user=postgres dbname=postgres options='-c search_path=elsewhere'`
  expect(await ask({ dsn }, 'SHOW search_path')).toBe('elsewhere')
  expect(await ask({ dsn }, 'SHOW statement_timeout')).toBe('8s')
})

describe('TLS', () => {
  let folder: string
  const file = (name: string) => path.join(folder, name)
  const at = (query: string, host = '127.0.0.1') => `postgres://postgres@${host}:${ports.writer}/postgres?${query}`
  beforeAll(() => {
    folder = tempFolder()
    mkdirSync(folder, { recursive: true })
    for (const [name, { key, cert }] of Object.entries({ idp, local })) {
      writeFileSync(file(`${name}.key`), key)
      writeFileSync(file(`${name}.crt`), cert)
    }
    chmodSync(folder, 0o755)
  })
  /** Puts a certificate into the data of the server, whose files it must own. */
  const certify = async (name: 'idp' | 'local') => {
    const data = path.dirname(String(await ask({ dsn: at('sslmode=disable') }, 'SHOW hba_file')))
    const accounts = readFileSync('/etc/passwd', 'utf8').split('\n')
    const [, , uid, gid] = accounts.find((line) => line.startsWith('nobody:'))?.split(':') ?? []
    for (const kind of ['key', 'crt']) {
      const to = path.join(data, `server.${kind}`)
      writeFileSync(to, readFileSync(file(`${name}.${kind}`)))
      chmodSync(to, 0o600)
      if (process.getuid?.() === 0) chownSync(to, Number(uid), Number(gid))
    }
    await admin(writer, 'ALTER SYSTEM SET ssl = on')
    await reload(writer)
  }

  test('is omitted for a server without TLS only if sslmode allows that', async () => {
    for (const mode of ['prefer', 'allow', 'disable']) expect(await secured(at(`sslmode=${mode}`))).toBe(false)
    await expect(secured(at('sslmode=require'))).rejects.toThrow('does not support SSL')
  })

  test('verifies nothing, the certificate chain, or the chain and the host name, according to sslmode', async () => {
    await certify('idp')
    for (const mode of ['prefer', 'require']) expect(await secured(at(`sslmode=${mode}`))).toBe(true)
    expect(await secured(at('sslmode=allow'))).toBe(false)
    expect(await secured(at(`sslmode=verify-ca&sslrootcert=${file('idp.crt')}`))).toBe(true)
    expect(await secured(at(`sslmode=require&sslrootcert=${file('idp.crt')}`))).toBe(true)
    for (const refused of ['verify-ca', 'require', 'verify-full'])
      await expect(secured(at(`sslmode=${refused}&sslrootcert=${file('local.crt')}`))).rejects.toThrow('certificate')
    await expect(secured(at(`sslmode=verify-full&sslrootcert=${file('idp.crt')}`))).rejects.toThrow(/altnames|IP/)
    await expect(secured(at('sslmode=verify-full'))).rejects.toThrow('certificate')
    await certify('local')
    expect(await secured(at(`sslmode=verify-full&sslrootcert=${file('local.crt')}`, 'localhost'))).toBe(true)
    // What is renewed in the file is used by the next connection.
    writeFileSync(file('ca.crt'), readFileSync(file('idp.crt')))
    await expect(secured(at(`sslmode=verify-ca&sslrootcert=${file('ca.crt')}`))).rejects.toThrow('certificate')
    writeFileSync(file('ca.crt'), readFileSync(file('local.crt')))
    expect(await secured(at(`sslmode=verify-ca&sslrootcert=${file('ca.crt')}`))).toBe(true)
  })
})

describe('the password', () => {
  let folder: string
  const hba = async () => String(await ask({ dsn: addressOf(reader) }, 'SHOW hba_file'))
  const at = () => `postgres://service@127.0.0.1:${ports.reader}/postgres`
  const setPassword = (to: string) => admin(reader, `ALTER ROLE service PASSWORD '${to}'`)
  beforeAll(async () => {
    await admin(reader, 'CREATE ROLE service LOGIN')
    const rules = 'host all service 127.0.0.1/32 scram-sha-256\nhost all all 127.0.0.1/32 trust\n'
    writeFileSync(await hba(), rules)
    await reload(reader)
  })
  beforeEach(() => {
    folder = tempFolder()
    mkdirSync(folder, { recursive: true })
  })

  test('of storage.postgres.password_file is read for each connection, so that it can rotate', async () => {
    const password_file = path.join(folder, 'password')
    const place = { dsn: at().replace('service@', 'service:old@'), password_file }
    for (const password of ['first', 'se cond ']) {
      await setPassword(password)
      writeFileSync(password_file, `${password}\n`)
      expect(await ask(place, 'SELECT current_user')).toBe('service')
    }
    writeFileSync(password_file, 'S3cret-wrong')
    const error = await ask(place, 'SELECT 1').catch((error: Error) => error)
    expect(String(error)).toContain('password authentication failed')
    expect(String(error)).not.toContain('S3cret')
    await expect(ask({ ...place, password_file: path.join(folder, 'none') }, 'SELECT 1')).rejects.toThrow('ENOENT')
  })

  test('is read from the libpq password file of passfile or PGPASSFILE, unless other users can read the file', async () => {
    await setPassword('third')
    const passfile = path.join(folder, 'pgpass')
    writeFileSync(passfile, `127.0.0.1:${ports.reader}:*:service:third\n`, { mode: 0o600 })
    expect(await ask({ dsn: `${at()}?passfile=${passfile}` }, 'SELECT current_user')).toBe('service')
    process.env['PGPASSFILE'] = passfile
    try {
      expect(await ask({ dsn: at() }, 'SELECT current_user')).toBe('service')
      chmodSync(passfile, 0o644)
      await expect(ask({ dsn: at() }, 'SELECT 1')).rejects.toThrow('can be read by others')
    } finally {
      delete process.env['PGPASSFILE']
    }
  })
})
