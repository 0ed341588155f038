// A sign-in that an operator tries: a public test client, its authorization request, and the return to the page.
import { call, segment } from './api.ts'
import { href } from './router.ts'
import type { NewClientAnswer, ResourceAnswer, TriedSignIn } from './types.ts'

type Step = TriedSignIn['steps'][number]

const KEPT = 'service.sign-in-test'
interface Kept {
  client_id: string
  state: string
  code_verifier: string
  redirect_uri: string
  resource: string
}

const base64url = (bytes: Uint8Array): string =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')
const random = (): string => base64url(crypto.getRandomValues(new Uint8Array(32)))

/** Creates the test client and goes to the sign-in. Throws an Error in words for people. */
export async function beginSignIn(
  issuer: string,
  { slug, uri, scopes }: Pick<ResourceAnswer, 'slug' | 'uri' | 'scopes'>,
): Promise<void> {
  // Browsers have no subtle on pages over plain http from another machine.
  if (!window.isSecureContext)
    throw new Error('the test needs this page over https or on this machine, because browsers offer no cryptography')
  const redirect_uri = window.location.origin + href(['connect', slug])
  const { client_id } = await call<NewClientAnswer>('POST', '/admin/clients', {
    client_name: `Sign-in test of ${slug}`,
    grant_types: ['authorization_code'],
    redirect_uris: [redirect_uri],
    token_endpoint_auth_method: 'none',
  })
  const kept: Kept = { client_id, redirect_uri, resource: slug, state: random(), code_verifier: random() }
  sessionStorage.setItem(KEPT, JSON.stringify(kept))
  const hash = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(kept.code_verifier))
  const query = new URLSearchParams({
    response_type: 'code',
    client_id,
    redirect_uri,
    resource: uri,
    scope: scopes.map(({ name }) => name).join(' '),
    state: kept.state,
    code_challenge: base64url(new Uint8Array(hash)),
    code_challenge_method: 'S256',
  })
  if (scopes.length === 0) query.delete('scope')
  window.location.assign(`${issuer.replace(/\/$/, '')}/oauth/authorize?${query}`)
}

/** Ends the test that the address belongs to: every step with its answer. Undefined without a test. The test client is deleted. */
export async function endSignIn(query: Readonly<Record<string, string>>): Promise<Step[] | undefined> {
  const text = sessionStorage.getItem(KEPT)
  if (text === null || query['state'] === undefined) return undefined
  sessionStorage.removeItem(KEPT)
  const { state, ...kept } = JSON.parse(text) as Kept
  try {
    return await stepsOf(query, state, kept)
  } finally {
    await call('DELETE', `/admin/clients/${segment(kept.client_id)}?force=true`).catch(() => {})
  }
}

async function stepsOf(
  { code, state: returned, error, error_description }: Readonly<Record<string, string>>,
  state: string,
  kept: Omit<Kept, 'state'>,
): Promise<Step[]> {
  const step = 'Sign in and agree'
  if (returned !== state)
    return [{ step, ok: false, answer: 'the answer belongs to another test', fix: 'start the test again' }]
  if (code === undefined)
    return [
      {
        step,
        ok: false,
        answer: [error, error_description].filter(Boolean).join(': '),
        fix: error === 'access_denied' ? 'the user did not agree, or may not use this server' : 'see the description',
      },
    ]
  const { steps } = await call<TriedSignIn>('POST', '/admin/try/sign-in', { ...kept, code })
  return [{ step, ok: true, answer: 'an authorization code' }, ...steps]
}
