// Connection strings in the formats of libpq: a URI or keyword=value text, one or several hosts, TLS by sslmode.
import { readFileSync } from 'node:fs'
import type { ConnectionOptions } from 'node:tls'

/** A server of a connection string. The driver has defaults for what is undefined. */
export interface DsnHost {
  host: string | undefined
  port: number | undefined
}

/** The attributes that a server must have to be chosen. */
export type SessionAttrs = (typeof SESSION_ATTRS)[number]

/** A parsed connection string. */
export interface Dsn {
  hosts: readonly DsnHost[]
  sessionAttrs: SessionAttrs
  /** Seconds for each host. */
  connectSeconds: number | undefined
  /** Keywords of libpq with their values. */
  keywords: Keywords
}

type Keywords = Readonly<Record<string, string | undefined>>

const SESSION_ATTRS = ['any', 'read-write', 'read-only', 'primary', 'standby', 'prefer-standby'] as const
const SSL_MODES = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify']
const KNOWN = [
  ...['host', 'port', 'user', 'password', 'dbname', 'passfile', 'options', 'application_name', 'client_encoding'],
  ...['connect_timeout', 'target_session_attrs', 'channel_binding', 'sslnegotiation', 'ssl'],
  ...['sslmode', 'sslrootcert', 'sslcert', 'sslkey', 'sslpassword'],
]
/** Keywords of libpq that have no effect here, and uselibpqcompat of the driver, which is always on. */
const IGNORED = [
  ...['keepalives', 'keepalives_idle', 'keepalives_interval', 'keepalives_count', 'tcp_user_timeout'],
  ...['fallback_application_name', 'sslcompression', 'sslsni', 'uselibpqcompat'],
]

const URI = /^postgres(?:ql)?:\/\/(?:([^/?]*)@)?([^/?@]*)(?:\/([^?]*))?(?:\?(.*))?$/s
const HOST = /^(?:\[([^\]]*)\]|([^:]*))(?::(\d*))?$/
const PAIR = /\s*([a-z_]+)\s*=\s*(?:'((?:[^'\\]|\\.)*)'|((?:[^\s'\\]|\\.)*))(?=\s|$)/sy

/** Parses a connection string. Throws an error that names the invalid keyword, but no value. */
export function readDsn(text: string): Dsn {
  const keywords = /^\w+:\/\//.test(text) ? fromUri(text) : fromPairs(text)
  for (const name of Object.keys(keywords))
    check([...KNOWN, ...IGNORED].includes(name), `has the keyword ${name}, which is not known`)
  const sessionAttrs = (keywords['target_session_attrs'] ?? 'any') as SessionAttrs
  check(SESSION_ATTRS.includes(sessionAttrs), `must have target_session_attrs as one of ${SESSION_ATTRS.join(', ')}`)
  const { sslmode, sslrootcert } = keywords
  check(sslmode === undefined || SSL_MODES.includes(sslmode), `must have sslmode as one of ${SSL_MODES.join(', ')}`)
  check(sslmode !== 'verify-ca' || sslrootcert, 'has sslmode=verify-ca, which needs sslrootcert')
  check(
    sslrootcert !== 'system' || sslmode === 'verify-full',
    'has sslrootcert=system, which needs sslmode=verify-full',
  )
  const seconds = Number(keywords['connect_timeout'] || 0)
  check(Number.isInteger(seconds), 'must have connect_timeout in seconds')
  return { hosts: hostsOf(keywords), sessionAttrs, connectSeconds: seconds > 0 ? seconds : undefined, keywords }
}

function check(holds: unknown, fault: string): asserts holds {
  if (!holds) throw new Error(`the connection string ${fault}`)
}

function fromUri(text: string): Keywords {
  const [, user = '', hosts = '', dbname = '', query = ''] = URI.exec(text) ?? []
  check(URI.test(text), 'is not a URI of PostgreSQL')
  const parts = hosts.split(',').map((each) => HOST.exec(each))
  check(
    parts.every((part) => part !== null),
    'has a host that cannot be read',
  )
  const colon = user.indexOf(':')
  const given = {
    user: colon < 0 ? user : user.slice(0, colon),
    password: colon < 0 ? '' : user.slice(colon + 1),
    dbname,
    host: parts.map((part) => part?.[1] ?? part?.[2] ?? '').join(','),
    port: parts.some((part) => part?.[3]) ? parts.map((part) => part?.[3] ?? '').join(',') : '',
  }
  const named = Object.entries(given).filter(([, value]) => value !== '')
  return Object.fromEntries([
    ...named.map(([name, value]) => [name, decoded(value)] as const),
    ...new URLSearchParams(query),
  ])
}

/** A percent sign that does not begin an escape is literal. */
function decoded(text: string): string {
  try {
    return text.replace(/(?:%[0-9a-f]{2})+/gi, decodeURIComponent)
  } catch {
    throw new Error('the connection string has an escape that is not UTF-8')
  }
}

function fromPairs(text: string): Keywords {
  const keywords: Record<string, string> = {}
  const end = text.trimEnd().length
  for (PAIR.lastIndex = 0; PAIR.lastIndex < end; ) {
    const [, name, quoted, plain] = PAIR.exec(text.slice(0, end)) ?? []
    check(name, 'is neither a URI that begins with postgres:// nor text of the form keyword=value')
    keywords[name] = (quoted ?? plain ?? '').replace(/\\(.)/gs, '$1')
  }
  return keywords
}

function hostsOf({ host = '', port = '' }: Keywords): DsnHost[] {
  const hosts = host.split(',')
  const ports = port.split(',')
  check(ports.length === 1 || ports.length === hosts.length, 'must have one port, or one for each host')
  return hosts.map((each, i) => {
    const own = ports.length === 1 ? ports[0] : ports[i]
    check(!own || (/^\d{1,5}$/.test(own) && Number(own) > 0), 'has a port that is not a number')
    return { host: each || undefined, port: own ? Number(own) : undefined }
  })
}

/** TLS of a connection: false for none, undefined for the default of the driver. */
export type Tls = false | undefined | ConnectionOptions

/**
 * The TLS settings with which a host is tried one after the other, by sslmode. Certificates are read here, so that the next
 * connection uses a renewed one. Throws when a file cannot be read.
 */
export function tlsWays({ keywords }: Dsn, host: string | undefined): readonly Tls[] {
  const { sslmode, ssl, sslrootcert, sslcert, sslkey, sslpassword } = keywords
  if (host?.startsWith('/')) return [false]
  // Without sslmode the chain and the name are verified if certificates are given. ssl=true is a JDBC setting.
  const implied =
    sslrootcert || sslcert || sslkey ? 'verify-full' : /^(true|1)$/.test(ssl ?? '') ? 'require' : undefined
  const mode = sslmode ?? implied ?? (ssl === 'no-verify' ? ssl : undefined)
  if (mode === undefined) return [undefined]
  if (mode === 'disable') return [false]
  const file = (name: string | undefined) => (name ? { content: readFileSync(name, 'utf8') } : undefined)
  const [ca, cert, key] = [sslrootcert === 'system' ? undefined : file(sslrootcert), file(sslcert), file(sslkey)]
  const own = {
    ...(ca ? { ca: ca.content } : {}),
    ...(cert ? { cert: cert.content } : {}),
    ...(key ? { key: key.content } : {}),
    ...(sslpassword ? { passphrase: sslpassword } : {}),
  }
  if (mode === 'verify-full') return [own]
  // A root certificate is always used if there is one. Only verify-full verifies the name.
  const unnamed = {
    ...own,
    rejectUnauthorized: Boolean(ca) && mode !== 'no-verify',
    checkServerIdentity: () => undefined,
  }
  if (mode === 'allow') return [false, unnamed]
  return mode === 'prefer' ? [unnamed, false] : [unnamed]
}

/** The password for a host in a password file of libpq (`host:port:database:user:password`); undefined when there is none. */
export function passwordIn(content: string, wanted: readonly [string, number, string, string]): string | undefined {
  const isField = (field: string | undefined, i: number) => field === '*' || field === String(wanted[i])
  for (const line of content.split(/\r?\n/)) {
    if (line.startsWith('#')) continue
    const fields = (line.match(/(?:^|:)(?:[^:\\]|\\.)*/g) ?? []).map((each) =>
      each.replace(/^:/, '').replace(/\\(.)/g, '$1'),
    )
    if (fields.length >= 5 && fields.slice(0, 4).every(isField)) return fields[4]
  }
  return undefined
}
