// Redaction, the second defence of the log: text that looks like a secret is not written. The first defence is not to log secrets.

/** Names of fields whose value is never logged, at any depth. */
const NAMES =
  /^(authorization|proxy-authorization|cookie|set-cookie|dpop|assertion|client_assertion|code|code_verifier|password|passphrase|secret|api_?key|dsn|token|(access|refresh|id|subject|actor|upstream|bearer)_token|\w+_(secret|password|key_env_value))$/i

/** Authorization codes, refresh tokens and session ids of this service; client secrets; JWTs; credentials in a header or in a URL. */
const SHAPES =
  /\b[a-z]{2,8}_[A-Za-z0-9_-]{43,64}(?![A-Za-z0-9_-])|\beyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{6,}(\.[A-Za-z0-9_-]*){1,3}|(?<=\b(Basic|Bearer|DPoP) )[A-Za-z0-9._~+/=-]{8,}|(?<=:\/\/[^\s/:@"]{0,256}:)[^\s/@"]+(?=@)/g

const REDACTED = '[redacted]'

/** Replaces everything in a text that looks like a secret. */
export const redactText = (text: string): string => text.replace(SHAPES, REDACTED)

/** Replaces the values of fields whose name says that they are secret, at any depth. */
export function redactFields(fields: Record<string, unknown>): Record<string, unknown> {
  const shown: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(fields)) {
    if (NAMES.test(name) && value !== undefined && value !== '') shown[name] = REDACTED
    else shown[name] = isPlain(value) ? redactFields(value) : value
  }
  return shown
}

const isPlain = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype
