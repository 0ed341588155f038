// Ranges of time that lists offer.
const HOURS: Readonly<Record<string, number>> = { '1h': 1, '24h': 24, '7d': 168, '30d': 720 }

/** The longest range. */
export const DAYS_30 = '30d'
/** The ranges with their texts. */
export const OFFERED_RANGES = [
  ['1h', '1 hour'],
  ['24h', '24 hours'],
  ['7d', '7 days'],
  [DAYS_30, '30 days'],
] as const

/** The server refuses more than 720 hours, and its clock may be ahead. */
const MARGIN_MS = 5 * 60_000
const HOUR_MS = 3_600_000

/** The start of a range, at a full minute: the same list is not read again because time goes by. */
export function sinceOf(range: string, now = Date.now()): string {
  const ms = (HOURS[range] ?? 24) * HOUR_MS - (range === DAYS_30 ? MARGIN_MS : 0)
  const minute = 60_000
  return new Date(Math.ceil((now - ms) / minute) * minute).toISOString().replace('.000Z', 'Z')
}

/** A time of a field `datetime-local`, in the zone of the reader, as the API takes it. Undefined for anything else. */
export function timeOf(local: string | undefined): string | undefined {
  const at = local ? Date.parse(local) : Number.NaN
  return Number.isNaN(at) ? undefined : new Date(at).toISOString()
}
