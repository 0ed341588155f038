// Ranges of time that lists and charts offer.

/** The ranges, in seconds. */
export const RANGES = { '1h': 3600, '24h': 86_400, '7d': 604_800, '30d': 2_592_000 } as const
export type RangeName = keyof typeof RANGES
/** Whether a text is a range. */
export const isRange = (text: string): text is RangeName => Object.hasOwn(RANGES, text)

/** The longest range. */
export const DAYS_30 = '30d'
/** The ranges beside 24 hours, with their texts. */
export const OFFERED_RANGES = Object.entries({ '1h': '1 hour', '7d': '7 days', [DAYS_30]: '30 days' })

/** The server refuses more than 720 hours, and its clock may be ahead. */
const MARGIN_MS = 5 * 60_000

/** The start of a range, at a full minute: the same list is not read again because time goes by. */
export function sinceOf(range: string, now = Date.now()): string {
  const ms = RANGES[isRange(range) ? range : '24h'] * 1000 - (range === DAYS_30 ? MARGIN_MS : 0)
  const minute = 60_000
  return new Date(Math.ceil((now - ms) / minute) * minute).toISOString().replace('.000Z', 'Z')
}

/** A time of a field `datetime-local`, in the zone of the reader, as the API takes it. Undefined for anything else. */
export function timeOf(local: string | undefined): string | undefined {
  const at = local ? Date.parse(local) : Number.NaN
  return Number.isNaN(at) ? undefined : new Date(at).toISOString()
}
