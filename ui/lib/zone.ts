// Times in full, in the zone of the reader or in UTC.

const UTC = 'service.utc'
/** Whether full times are in UTC, and not in the zone of the reader. */
export const timesInUtc = (): boolean => localStorage.getItem(UTC) !== null
/** Sets the zone of full times. The browser keeps it. */
export const showTimesInUtc = (is: boolean): void =>
  is ? localStorage.setItem(UTC, '1') : localStorage.removeItem(UTC)

/** A time in full, with its zone. */
export const fullTime = (time: string): string =>
  new Date(time).toLocaleString('en-GB', {
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    timeZoneName: 'short',
    ...(timesInUtc() ? { timeZone: 'UTC' } : {}),
  } as const)

/** The day of a time, such as `Sat 5 Dec`. */
export const dayOf = (time: string | number): string =>
  new Date(time).toLocaleDateString('en-GB', {
    weekday: 'short',
    day: 'numeric',
    month: 'short',
    ...(timesInUtc() ? { timeZone: 'UTC' } : {}),
  } as const)

/** The time that an id contains: its first 48 bits are milliseconds. */
export const timeOfId = (id: string): string => {
  const bytes = atob(id.slice(0, 8).replaceAll('-', '+').replaceAll('_', '/'))
  return new Date([...bytes].reduce((sum, byte) => sum * 256 + byte.charCodeAt(0), 0)).toISOString()
}
