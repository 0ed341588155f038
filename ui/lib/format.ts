// Human-readable numbers, times and names.

const NUMBER = new Intl.NumberFormat('en')
const COMPACT = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 })

/** 12,345. */
export const number = (value: number): string => NUMBER.format(value)
/** 12.3K. */
export const compact = (value: number): string => (value < 10_000 ? NUMBER.format(value) : COMPACT.format(value))

/** `1 user`, `12 users`. */
export const quantity = (count: number, one: string, many = `${one}s`, form = number): string =>
  `${form(count)} ${count === 1 ? one : many}`

const UNITS: readonly [seconds: number, letter: string][] = [
  [86_400, 'd'],
  [3600, 'h'],
  [60, 'm'],
  [1, 's'],
]
/** Seconds as the two largest units: `2d 3h`. */
export function span(seconds: number): string {
  let rest = Math.max(0, Math.round(seconds))
  const parts: string[] = []
  for (const [size, letter] of UNITS) {
    const count = Math.floor(rest / size)
    if (count > 0) parts.push(`${count}${letter}`)
    rest -= count * size
    if (parts.length === 2) break
  }
  return parts.join(' ') || '0s'
}

/** How long ago a time was, or how far ahead it is. */
export function ago(time: string, now = Date.now()): string {
  const seconds = (now - Date.parse(time)) / 1000
  if (seconds < -1) return `in ${coarse(-seconds)}`
  return seconds < 5 ? 'just now' : `${coarse(seconds)} ago`
}
const coarse = (seconds: number): string => span(seconds).split(' ')[0] as string

const SIZES = ['B', 'kB', 'MB', 'GB', 'TB']
/** Bytes: `12.3 MB`. */
export function formatBytes(count: number): string {
  let [value, step] = [count, 0]
  while (value >= 1000 && step < SIZES.length - 1) [value, step] = [value / 1000, step + 1]
  return `${value < 10 && step > 0 ? value.toFixed(1) : Math.round(value)} ${SIZES[step]}`
}

/** Seconds as milliseconds or seconds: `3.2 ms`. */
export const latency = (seconds: number): string =>
  seconds >= 1 ? `${seconds.toFixed(1)} s` : `${tidy(seconds * 1000)} ms`
const tidy = (value: number): string => (value >= 10 ? String(Math.round(value)) : String(Number(value.toFixed(1))))

// Invisible characters that reverse or join text could make one name look like another.
const INVISIBLE = /[^\P{Cf}\u200c\u200d]/gu
/** A name that a client or user chose, without the characters that could make it look like another one. */
export const plain = (name: string): string => name.replace(INVISIBLE, '')

/** `client_name` as words: `Client name`. */
export function words(name: string): string {
  const spelled = name
    .split(/[_.]/)
    .map((word) => SPELLED[word] ?? word)
    .join(' ')
  return spelled.charAt(0).toUpperCase() + spelled.slice(1)
}
const SPELLED: Record<string, string> = {
  uri: 'URI',
  uris: 'URIs',
  url: 'URL',
  id: 'ID',
  ids: 'IDs',
  jwks: 'JWKS',
  dpop: 'DPoP',
  ttl: 'TTL',
  idp: 'identity provider',
}
