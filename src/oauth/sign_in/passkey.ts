// Passkeys (WebAuthn Level 3). A challenge is a time and a random value with a MAC that names the browser and the purpose: nothing is stored
// until one is used. @simplewebauthn/server verifies the answers; it is loaded with the first one.
import { randomBytes } from 'node:crypto'
import type { App } from '../../context.ts'
import { equalSecrets, newId } from '../../lib/id.ts'
import type { Factor } from '../../records/user.ts'
import { accountName, type User } from '../../records/user.ts'
import { consumeOnce } from '../tokens/single_use.ts'
import { relyingPartyId } from './second_factor.ts'

/** Seconds for which a page can use its challenge. */
const LIFETIME = 900
const CHALLENGE = /^((\d{1,12})\.[\w-]{22})\.([\w-]{43})$/
/** ES256, EdDSA, RS256: what authenticators have (WebAuthn §5.4). */
const ALGORITHMS = [-7, -8, -257]

/** What a challenge is for: a sign-in in a browser, or a new passkey of a user in it. */
interface Purpose {
  browser: string
  user_id?: string
}
const boundTo = ({ browser, user_id = '' }: Purpose, unsigned: string): string => `${unsigned} ${user_id} ${browser}`

function newChallenge({ sealer, clock }: App, purpose: Purpose): string {
  const unsigned = `${clock.now()}.${randomBytes(16).toString('base64url')}`
  return Buffer.from(`${unsigned}.${sealer.mac('passkey', boundTo(purpose, unsigned))}`).toString('base64url')
}

/** When a challenge was made for a purpose. Undefined when it was not, or has expired. */
function madeAt({ sealer, clock }: App, purpose: Purpose, challenge: string): number | undefined {
  const [, unsigned, at, mac = ''] = CHALLENGE.exec(Buffer.from(challenge, 'base64url').toString()) ?? []
  if (unsigned === undefined || Number(at) + LIFETIME <= clock.now()) return undefined
  const isOurs = sealer.macs('passkey', boundTo(purpose, unsigned)).some((each) => equalSecrets(each, mac))
  return isOurs ? Number(at) : undefined
}

/** The options of navigator.credentials.get(), as JSON. Undefined when passkeys are off. */
export function signInOptions(app: App, purpose: Purpose): object | undefined {
  const rpId = relyingPartyId(app.config)
  return rpId === undefined ? undefined : { challenge: newChallenge(app, purpose), rpId, userVerification: 'required' }
}

/** The options of navigator.credentials.create(), as JSON. Undefined when passkeys are off. */
export function addOptions(app: App, browser: string, user: User, factors: readonly Factor[]): object | undefined {
  const id = relyingPartyId(app.config)
  if (id === undefined) return undefined
  const name = accountName(user)
  return {
    challenge: newChallenge(app, { browser, user_id: user.id }),
    rp: { id, name: app.branding.name },
    user: { id: Buffer.from(user.id).toString('base64url'), name, displayName: user.name || name },
    pubKeyCredParams: ALGORITHMS.map((alg) => ({ type: 'public-key', alg })),
    excludeCredentials: factors.flatMap(({ credential_id }) =>
      credential_id === undefined ? [] : [{ type: 'public-key', id: credential_id }],
    ),
    authenticatorSelection: { residentKey: 'required', requireResidentKey: true, userVerification: 'required' },
    attestation: 'none',
  }
}

const library = () => import('@simplewebauthn/server')

/** An answer of a browser as JSON. Undefined when it is not an object. */
function readAnswer(text: string): never | undefined {
  try {
    const answer: unknown = JSON.parse(text)
    return typeof answer === 'object' && answer !== null ? (answer as never) : undefined
  } catch {
    return undefined
  }
}

/** What both answers are checked for, with what notes the challenge that was answered. */
function expected(app: App, purpose: Purpose, rpId: string) {
  let used = ''
  return {
    checks: {
      expectedOrigin: new URL(app.config.server.issuer).origin,
      expectedRPID: rpId,
      requireUserVerification: true,
      expectedChallenge(challenge: string): boolean {
        used = challenge
        return madeAt(app, purpose, challenge) !== undefined
      },
    },
    /** Uses the challenge up. False when it was used before. */
    consume: () => consumeOnce(app, 'passkey', purpose.browser, used, app.clock.now() + LIFETIME),
  }
}

/** The passkey that a browser has created for a user. Undefined when the answer is not valid. */
export async function newPasskey(
  app: App,
  { browser, user, name, answer }: { browser: string; user: User; name: string; answer: string },
): Promise<Factor | undefined> {
  const rpId = relyingPartyId(app.config)
  const response = readAnswer(answer)
  if (rpId === undefined || !response) return undefined
  const { checks, consume } = expected(app, { browser, user_id: user.id }, rpId)
  const { verifyRegistrationResponse } = await library()
  const { registrationInfo } = await verifyRegistrationResponse({
    ...checks,
    response,
    supportedAlgorithmIDs: ALGORITHMS,
  }).catch(() => ({ registrationInfo: undefined }))
  if (!registrationInfo?.userVerified || !(await consume())) return undefined
  const { id, publicKey, counter } = registrationInfo.credential
  const now = app.clock.now()
  return {
    id: newId(),
    user_id: user.id,
    kind: 'passkey',
    name,
    created_at: now,
    last_used_at: now,
    credential_id: id,
    public_key: Buffer.from(publicKey).toString('base64url'),
    counter,
  }
}

/** The user whose passkey has answered in a browser. Undefined when the answer is not valid, or was sent before. */
export async function signedInByPasskey(app: App, browser: string, answer: string): Promise<User | undefined> {
  const rpId = relyingPartyId(app.config)
  const response = readAnswer(answer) as { id?: unknown } | undefined
  const credential_id = response?.id
  if (rpId === undefined || typeof credential_id !== 'string') return undefined
  const found = await app.store.findPasskey({ credential_id })
  if (!found) return undefined
  const { id, credential_id: known = '', public_key = '', counter = 0 } = found.factor
  const { checks, consume } = expected(app, { browser }, rpId)
  const { verifyAuthenticationResponse } = await library()
  const { authenticationInfo } = await verifyAuthenticationResponse({
    ...checks,
    response: response as never,
    credential: { id: known, publicKey: new Uint8Array(Buffer.from(public_key, 'base64url')), counter },
  })
    .then(({ verified, authenticationInfo }) => ({ authenticationInfo: verified ? authenticationInfo : undefined }))
    .catch(() => ({ authenticationInfo: undefined }))
  if (!authenticationInfo?.userVerified || !(await consume())) return undefined
  const isUsed = await app.store.usePasskey({ id, counter: authenticationInfo.newCounter, now: app.clock.now() })
  return isUsed ? found.user : undefined
}
