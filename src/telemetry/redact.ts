// The last line of defence of the log: what looks like a secret does not leave the process. The first is that nobody logs one.

/** Names of fields whose value is never shown, wherever they are. */
const NAMES =
  /^(authorization|proxy-authorization|cookie|set-cookie|dpop|assertion|client_assertion|code|code_verifier|password|passphrase|secret|api_?key|dsn|token|(access|refresh|id|subject|actor|upstream|bearer)_token|\w+_(secret|password|key_env_value))$/i

/** Codes, refresh tokens and session ids of ours; client secrets; JWTs; credentials in a header or in a URL. */
const SHAPES =
  /\b[a-z]{2,8}_[A-Za-z0-9_-]{43,64}(?![A-Za-z0-9_-])|\beyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{6,}(\.[A-Za-z0-9_-]*){1,3}|(?<=\b(Basic|Bearer|DPoP) )[A-Za-z0-9._~+/=-]{8,}|(?<=:\/\/[^\s/:@"]{0,256}:)[^\s/@"]+(?=@)/g

const REDACTED = '[redacted]'

/** A text without what looks like a secret in it. */
export const redactText = (text: string): string => text.replace(SHAPES, REDACTED)

/** Fields without the values of those whose name says that they are secret, however deep. */
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
