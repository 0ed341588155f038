// The form of results: at most 25 KB, and values from outside are marked as data.

/** Bytes of a result. */
export const MAX_RESULT = 25 * 1024

/** Members whose values clients, users or other servers write. */
const OUTSIDE: ReadonlySet<string> = new Set([
  ...['client_name', 'client_uri', 'logo_uri', 'tos_uri', 'policy_uri', 'jwks_uri', 'redirect_uris', 'contacts'],
  ...['name', 'email', 'display_name', 'groups', 'description', 'descriptions', 'user_agent', 'device', 'detail'],
  ...['message', 'text', 'error_description', 'claims', 'header', 'document', 'client_metadata', 'errors', 'scope'],
  ...['federated_subject', 'provider_sub', 'post_logout_redirect_uris', 'software_id', 'software_version', 'address'],
])
/** Members that are named at most. */
const MOST_NAMED = 30

export const isFitting = (result: object): boolean => Buffer.byteLength(JSON.stringify(result)) <= MAX_RESULT

/**
 * Names the members from outside in `from_outside`, and shows characters that people do not see as their code point: an instruction
 * could be written in them.
 */
export function markOutside(result: Record<string, unknown>): Record<string, unknown> {
  const found = new Set<string>()
  const walk = (value: unknown, path: string, isInside: boolean): unknown => {
    if (typeof value === 'string') return visible(value)
    if (Array.isArray(value)) return value.map((each) => walk(each, `${path}[]`, isInside))
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(
      Object.entries(value).map(([name, each]) => {
        const at = path === '' ? name : `${path}.${name}`
        const isMarked = !isInside && OUTSIDE.has(name) && hasText(each)
        if (isMarked) found.add(at)
        return [visible(name), walk(each, at, isInside || isMarked)]
      }),
    )
  }
  const shown = walk(result, '', false) as Record<string, unknown>
  return found.size > 0 ? { ...shown, from_outside: [...found].slice(0, MOST_NAMED) } : shown
}

const hasText = (value: unknown): boolean =>
  typeof value === 'string'
    ? value !== ''
    : typeof value === 'object' && value !== null && Object.values(value).some(hasText)

/** Controls except line breaks, invisible and reordering characters, variation selectors and tags. */
const INVISIBLE =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\ufe00-\ufe0f]|\p{Surrogate}|[\u{e0000}-\u{e0fff}]/gu

/** A text in which every character can be seen. */
export const visible = (text: string): string =>
  text.replace(INVISIBLE, (char) => `<U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}>`)

/** Cuts long texts and lists until the result fits. */
export function shorten(result: Record<string, unknown>): Record<string, unknown> {
  for (let [texts, rows, shown] = [4096, 200, result]; ; texts = Math.ceil(texts / 2), rows = Math.ceil(rows / 2)) {
    if (isFitting(shown)) return shown
    shown = { ...(cut(result, texts, rows) as Record<string, unknown>), shortened: true }
    if (texts === 1) return shown
  }
}

function cut(value: unknown, texts: number, rows: number): unknown {
  // A short text may be an id, a time or a word of a list.
  if (typeof value === 'string')
    return value.length > Math.max(texts, 64) ? `${value.slice(0, Math.max(texts, 64))}…` : value
  if (Array.isArray(value)) return value.slice(0, rows).map((each) => cut(each, texts, rows))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, cut(each, texts, rows)]))
}
