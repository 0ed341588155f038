// Connection strings, read as libpq reads them.
import { describe, expect, test } from 'vitest'
import { passwordIn, readDsn, tlsWays } from '../../src/store/postgres/dsn.ts'

describe('a URI', () => {
  test('names one or several hosts, each with its port or all with one port', () => {
    expect(readDsn('postgres://u:p@a:1,b:2/db').hosts).toEqual([
      { host: 'a', port: 1 },
      { host: 'b', port: 2 },
    ])
    expect(readDsn('postgresql://u@a,[::1]:7/db').hosts).toEqual([
      { host: 'a', port: undefined },
      { host: '::1', port: 7 },
    ])
    expect(readDsn('postgres:///db?host=a,b&port=5').hosts).toEqual([
      { host: 'a', port: 5 },
      { host: 'b', port: 5 },
    ])
    expect(readDsn('postgres:///db').hosts).toEqual([{ host: undefined, port: undefined }])
  })

  test('names Unix sockets', () => {
    const socket = [{ host: '/run/postgresql', port: undefined }]
    expect(readDsn('postgres:///db?host=/run/postgresql').hosts).toEqual(socket)
    expect(readDsn('postgres://%2Frun%2Fpostgresql/db').hosts).toEqual(socket)
  })

  test('decodes percent-encoding, and keeps a percent sign that encodes nothing', () => {
    const { keywords } = readDsn('postgres://us%40er:p%3A100%-@a/d%20b?options=-c%20search_path%3Dx')
    expect(keywords).toMatchObject({ user: 'us@er', password: 'p:100%-', dbname: 'd b', options: '-c search_path=x' })
    expect(readDsn('postgres://u:a@b@host/db').keywords['password']).toBe('a@b')
  })
})

test('a connection string of keywords equals the same URI', () => {
  const text = String.raw` host=a,b port = 1,2 user=u dbname='my db' password='it\'s \\' target_session_attrs=read-write `
  const { hosts, sessionAttrs, keywords } = readDsn(text)
  expect(hosts).toEqual([
    { host: 'a', port: 1 },
    { host: 'b', port: 2 },
  ])
  expect(sessionAttrs).toBe('read-write')
  expect(keywords).toMatchObject({ user: 'u', dbname: 'my db', password: String.raw`it's \ `.trim() })
})

test.each([
  ['postgres://u:S3cret@a/db?sslmod=verify-full', 'sslmod'],
  ['postgres://u:S3cret@a/db?sslmode=sometimes', 'sslmode'],
  ['postgres://u:S3cret@a/db?sslmode=verify-ca', 'sslrootcert'],
  ['postgres://u:S3cret@a/db?sslmode=require&sslrootcert=system', 'verify-full'],
  ['postgres://u:S3cret@a/db?target_session_attrs=master', 'target_session_attrs'],
  ['postgres://u:S3cret@a,b,c/db?port=1,2', 'port'],
  ['postgres://u:S3cret@a:port/db', 'host'],
  ['postgres://u:S3cret@a/db?connect_timeout=soon', 'connect_timeout'],
  ['host=a password=S3cret dbname', 'keyword=value'],
  ["host=a password='S3cret", 'keyword=value'],
  ['mysql://u:S3cret@a/db', 'URI'],
])('%s is refused with an error that names the fault and not the password', (text, named) => {
  const read = () => readDsn(text)
  expect(read).toThrow(named)
  expect(read).not.toThrow('S3cret')
})

test('sslmode decides whether TLS is used and what is verified', () => {
  const ways = (query: string, host = 'a') => tlsWays(readDsn(`postgres://a/db?${query}`), host)
  const unverified = expect.objectContaining({ rejectUnauthorized: false })
  expect(ways('sslmode=disable')).toEqual([false])
  expect(ways('sslmode=allow')).toEqual([false, unverified])
  expect(ways('sslmode=prefer')).toEqual([unverified, false])
  expect(ways('sslmode=require')).toEqual([unverified])
  expect(ways('ssl=true')).toEqual([unverified])
  expect(ways('sslmode=verify-full')).toEqual([{}])
  expect(ways('sslmode=verify-full', '/run/postgresql')).toEqual([false])
  expect(ways('')).toEqual([undefined])
})

test('the first line of a password file that matches host, port, database and user is used', () => {
  const file = String.raw`# a comment
db:5432:*:other:no
db:5432:service:ada:se\:cret\\
*:*:*:*:last`
  const find = (host: string, user: string) => passwordIn(file, [host, 5432, 'service', user])
  expect(find('db', 'ada')).toBe('se:cret\\')
  expect(find('elsewhere', 'ada')).toBe('last')
  expect(passwordIn('db:1:x:y:z', ['db', 2, 'x', 'y'])).toBeUndefined()
})
