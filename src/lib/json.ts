// JSON that others wrote: what is read of it is objects.
import { isUtf8 } from 'node:buffer'

/** True for what has members: no list, and not null. */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The JSON object in some bytes; undefined when they are no UTF-8, no JSON, or anything but an object. */
export function parseObject(bytes: Buffer): Record<string, unknown> | undefined {
  if (!isUtf8(bytes)) return undefined
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8'))
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}
