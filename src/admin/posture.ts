// Unsafe settings of the running configuration, and the suggested corrections.

import type { z } from 'zod'
import { isAdminExposed } from '../config/notices.ts'
import { sessionSecrets } from '../config/session_secrets.ts'
import type { App } from '../context.ts'
import { DAY } from '../lib/time.ts'
import { isLocalhost } from '../lib/url.ts'
import { effectiveDcrMode } from '../oauth/clients/registration_mode.ts'
import type { concern } from './answers/service.ts'

export type Concern = z.output<typeof concern>

const SHORT = 32
const OLD_KEY = 90 * DAY

/** Every unsafe setting. With a localhost issuer, settings for development are not listed. */
export async function concernsOf(app: App): Promise<Concern[]> {
  return (await possibleConcerns(app)).filter(({ when }) => when).map(({ when: _, ...concern }) => concern)
}

/** For each key that can be unsafe: 1 when it is, otherwise 0. */
export async function unsafeSettings(app: App): Promise<Record<string, number>> {
  const settings: Record<string, number> = {}
  for (const { key, when } of await possibleConcerns(app)) settings[key] = Math.max(settings[key] ?? 0, Number(when))
  return settings
}

type PossibleConcern = Concern & { when: boolean }

const possibleConcerns = async (app: App): Promise<PossibleConcern[]> => [
  ...secretConcerns(app),
  ...exposureConcerns(app, await effectiveDcrMode(app)),
]

/** Secrets, cookies and keys. */
function secretConcerns({ config, keyring, clock }: App): PossibleConcern[] {
  const { server, session, admin } = config
  const isLocal = isLocalhost(server.issuer)
  const keyAge = signingKeyAge(keyring, clock.now())
  return [
    {
      when: session.secret.length > 0 && session.secret.length < SHORT,
      key: 'session.secret',
      severity: 'bad',
      because: 'the session secret is so short that it can be guessed',
      instead: 'openssl rand -base64 48',
    },
    {
      when: !sessionSecrets(config),
      key: 'session.secret',
      severity: 'warn',
      because: 'session.secret is empty: every restart signs all users out',
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
      when: keyAge > OLD_KEY,
      key: 'signing',
      severity: 'warn',
      because: `the signing key has been in use for ${Math.floor(keyAge / DAY)} days`,
      instead: 'rotate it on the page Keys; issued tokens stay valid',
    },
  ]
}

/** What the listeners accept, and from where. */
function exposureConcerns(
  { config, metrics }: App,
  mode: Awaited<ReturnType<typeof effectiveDcrMode>>,
): PossibleConcern[] {
  const { server, rate_limit, cimd, device } = config
  const isLocal = isLocalhost(server.issuer)
  return [
    {
      when: mode === 'open',
      key: 'dcr.mode',
      severity: isLocal ? 'warn' : 'bad',
      because: 'every caller may register a client with any redirect URI',
      instead: 'approved_redirects or admin_only, on the page Settings',
    },
    {
      when: mode === 'open' && device.enabled,
      key: 'device.enabled',
      severity: isLocal ? 'warn' : 'bad',
      because: 'every caller may register a client and send users its device codes (phishing)',
      instead: 'device.enabled: false, or dcr.mode approved_redirects or admin_only',
    },
    {
      when: server.issuer.startsWith('http:') && !isLocal,
      key: 'server.issuer',
      severity: 'bad',
      because: 'the issuer is plain http: tokens and passwords are sent unencrypted',
      instead: 'an https issuer, behind a proxy that terminates TLS',
    },
    {
      when: isAdminExposed(config),
      key: 'admin.address',
      severity: 'warn',
      because: 'the admin listener accepts connections on every interface',
      instead: '127.0.0.1:9001, or an internal network only',
    },
    {
      when:
        server.trusted_proxies.length === 0 &&
        metrics.counted('ext_forwarded_for_ignored_total').some(({ held }) => held.value > 0),
      key: 'server.trusted_proxies',
      severity: 'warn',
      because: 'requests have X-Forwarded-For, which is ignored: behind a proxy all callers have its address',
      instead: 'the addresses of the proxies, if these requests come through them',
    },
    {
      when: !rate_limit.enabled,
      key: 'rate_limit.enabled',
      severity: isLocal ? 'warn' : 'bad',
      because: 'requests and registrations are not limited',
      instead: 'rate_limit.enabled: true',
    },
    {
      when: cimd.allow_private_addresses,
      key: 'cimd.allow_private_addresses',
      severity: isLocal ? 'warn' : 'bad',
      because: 'documents and keys may be fetched from private addresses, also over plain http',
      instead: 'false, except for development',
    },
  ]
}

/** Seconds since the last rotation. A rotation creates a new next key, so its age is that of the rotation. */
function signingKeyAge(keyring: App['keyring'], now: number): number {
  const published = keyring.published().filter(({ isIdToken }) => !isIdToken)
  const newest = published.find(({ next }) => next) ?? published.find(({ kid }) => kid === keyring.current().kid)
  return now - (newest?.created_at ?? now)
}
