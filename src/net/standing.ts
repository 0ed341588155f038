// On whose behalf the hosts that clients name are contacted.

/**
 * From the most to the least trusted: a client of an operator, a client that a user has consented to, a signed-in person, an anonymous caller. Each has
 * connections, lookups and caches of its own, so that what anonymous callers cause never takes the place of a client that is in use.
 */
export const STANDINGS = ['operator', 'consented', 'person', 'anonymous'] as const
export type Standing = (typeof STANDINGS)[number]

/** A part for each standing. */
export const forEachStanding = <T>(make: (standing: Standing) => T): Readonly<Record<Standing, T>> =>
  Object.fromEntries(STANDINGS.map((standing) => [standing, make(standing)])) as Record<Standing, T>
