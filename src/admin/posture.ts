// What an operator should know is unsafe about the running configuration, and what to do about it.
import type { App } from '../context.ts'
import { DAY } from '../lib/time.ts'
import { isLocalhost } from '../lib/url.ts'
import { effectiveDcrMode } from '../oauth/registration_mode.ts'

export interface Concern {
  /** The configuration key that it is about. */
  key: string
  /** Fixed now, or to be looked at. */
  severity: 'bad' | 'warn'
  because: string
  instead: string
}

const SHORT = 32
const OLD_KEY = 90 * DAY

/** Everything about this service that is unsafe as it runs; what is only for development is not, on a localhost issuer. */
export async function concernsOf(app: App): Promise<Concern[]> {
  const { config, keyring, clock } = app
  const { server, session, admin, rate_limit, cimd } = config
  const isLocal = isLocalhost(server.issuer)
  const mode = await effectiveDcrMode(app)
  const adminHost = admin.address.slice(0, admin.address.lastIndexOf(':'))
  const now = clock.now()
  // A rotation makes the next key the current one and another next one, so that the next one tells when that was.
  const published = keyring.published()
  const signsSince = (published.find(({ next }) => next) ?? published.find(({ kid }) => kid === keyring.current().kid))
    ?.created_at
  const keyAge = now - (signsSince ?? now)
  const all: (Concern & { when: boolean })[] = [
    {
      when: mode === 'open',
      key: 'dcr.mode',
      severity: isLocal ? 'warn' : 'bad',
      because: 'anybody may register a client with any redirect URI',
      instead: 'approved_redirects or admin_only, on the page Settings',
    },
    {
      when: server.issuer.startsWith('http:') && !isLocal,
      key: 'server.issuer',
      severity: 'bad',
      because: 'the issuer is plain http: tokens and passwords travel in clear',
      instead: 'an https issuer, behind a proxy that ends TLS',
    },
    {
      when: session.secret.length > 0 && session.secret.length < SHORT,
      key: 'session.secret',
      severity: 'bad',
      because: 'the session secret is short enough to be guessed',
      instead: 'openssl rand -base64 48',
    },
    {
      when: session.secret === '',
      key: 'session.secret',
      severity: 'warn',
      because: 'there is no session secret: every restart signs everybody out',
      instead: 'openssl rand -base64 48',
    },
    {
      when: !session.secure && !isLocal,
      key: 'session.secure',
      severity: 'bad',
      because: 'the session cookie is also sent over plain http',
      instead: 'session.secure: true',
    },
    {
      when: admin.api_key.length > 0 && admin.api_key.length < SHORT,
      key: 'admin.api_key',
      severity: isLocal ? 'warn' : 'bad',
      because: `the admin key has fewer than ${SHORT} characters`,
      instead: 'openssl rand -base64 33',
    },
    {
      when: !isLocal && ['', '0.0.0.0', '[::]'].includes(adminHost),
      key: 'admin.address',
      severity: 'warn',
      because: 'the admin listener takes connections on every interface',
      instead: '127.0.0.1:9001, or an internal network only',
    },
    {
      when: !rate_limit.enabled,
      key: 'rate_limit.enabled',
      severity: isLocal ? 'warn' : 'bad',
      because: 'nothing limits requests, registrations and guessed passwords',
      instead: 'rate_limit.enabled: true',
    },
    {
      when: cimd.allow_private_addresses,
      key: 'cimd.allow_private_addresses',
      severity: isLocal ? 'warn' : 'bad',
      because: 'documents and keys may be fetched from inside the network, also over plain http',
      instead: 'false outside of development',
    },
    {
      when: keyAge > OLD_KEY,
      key: 'signing',
      severity: 'warn',
      because: `the signing key has signed for ${Math.floor(keyAge / DAY)} days`,
      instead: 'rotate it on the page Keys; no token stops working',
    },
  ]
  return all.filter(({ when }) => when).map(({ when: _, ...concern }) => concern)
}
