// Second factors of local users: what a sign-in proves, and which sign-ins need a factor.
import type { Config } from '../../config/schema.ts'
import { hasTwoFactors, type Proven } from '../../records/sign_in.ts'
import type { User } from '../../records/user.ts'

/** A sign-in with a password and a one-time password. */
export const WITH_CODE: Proven = { amr: ['pwd', 'otp', 'mfa'], acr: 'mfa' }
/** A sign-in with a password and a recovery code. */
export const WITH_RECOVERY_CODE: Proven = { amr: ['pwd', 'mfa'], acr: 'mfa' }
/** A sign-in with a passkey, which verified its user: phishing-resistant. */
export const WITH_PASSKEY: Proven = { amr: ['hwk', 'user', 'mfa'], acr: 'phr' }

/** Whether a sign-in is of one of some authentication context classes. True without any. A passkey counts as `mfa` too. */
export const meetsClass = (acr_values: readonly string[], proven: Proven): boolean =>
  acr_values.length === 0 ||
  (proven.acr !== undefined && acr_values.includes(proven.acr)) ||
  (acr_values.includes('mfa') && hasTwoFactors(proven))

/** The id of this service as browsers and passkeys know it (WebAuthn §5.1). Undefined when passkeys are off, or the host is an address. */
export function relyingPartyId({ webauthn, server }: Pick<Config, 'webauthn' | 'server'>): string | undefined {
  if (!webauthn.enabled) return undefined
  const host = new URL(server.issuer).hostname
  return /^\[|^[\d.]+$/.test(host) ? undefined : webauthn.rp_id || host
}

/** The classes that a local user can reach. */
export const reachableClasses = (config: Pick<Config, 'webauthn' | 'server'>): ('mfa' | 'phr')[] =>
  relyingPartyId(config) === undefined ? ['mfa'] : ['mfa', 'phr']

/** Whether every sign-in of a user needs a second factor (`mfa.required`). */
export const needsFactor = ({ mfa }: Pick<Config, 'mfa'>, { provider, role }: User): boolean =>
  provider === 'local' && (mfa.required === 'always' || (mfa.required === 'admins' && role === 'admin'))

const MAX_AMR = 10
type IsText = (value: unknown) => value is string

/** What the claims of a provider say of a sign-in, with `mfa` exactly if one of them counts as two factors here (`oidc.mfa_values`). `isText` says which texts are read. */
export function provenUpstream(claims: Record<string, unknown>, mfa_values: readonly string[], isText: IsText): Proven {
  const acr = isText(claims['acr']) ? claims['acr'] : undefined
  const said = claims['amr']
  const isRead = Array.isArray(said) && said.length <= MAX_AMR && said.every(isText)
  const amr = isRead ? said : undefined
  const counts = [acr, ...(amr ?? [])].some((value) => value !== undefined && mfa_values.includes(value))
  const methods = [...(amr ?? []).filter((value) => value !== 'mfa'), ...(counts ? ['mfa'] : [])]
  const stated = acr === 'mfa' && !counts ? undefined : acr
  return { amr: amr || counts ? methods : undefined, acr: stated ?? (counts ? 'mfa' : undefined) }
}
