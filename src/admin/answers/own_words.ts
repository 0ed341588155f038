// Which texts of answers only this service writes. Agents learn that every other text comes from outside (mcp/result.ts), so that a new
// member is marked until its declaration says otherwise.
import { z } from 'zod'

/** The schemas of texts that only this service writes. */
export const ownWords = z.registry<{ own: true }>()

/**
 * A text that only this service writes: an id or a hash that it made, a word of its code, the name of one of its settings. Not a text that
 * repeats, even in a part, what a client, a user, an operator or another server chose. Enums, constants and times need no mark.
 */
export const own = () => z.string().register(ownWords, { own: true })

/** A record whose names only this service writes. */
export const ownRecord = <V extends z.ZodType>(value: V) =>
  z.record(z.string(), value).register(ownWords, { own: true })
