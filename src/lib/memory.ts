// How much memory a value takes, for caches that are bounded in bytes.

/** Bytes of a megabyte. */
export const MB = 1024 * 1024

const [TEXT, OBJECT, MEMBER] = [24, 56, 8]
/** One character of a text that has no character beyond Latin-1 takes one byte, otherwise two. */
const isWide = (text: string): boolean => /[^\0-\xff]/.test(text)

/**
 * Estimates the bytes that a value of texts, numbers, arrays, sets, maps and plain objects takes on the heap. The names of members are shared by all
 * objects of a shape, and functions by all of their uses, so that they count as a reference.
 */
export function memoryOf(value: unknown): number {
  if (typeof value === 'string') return TEXT + (isWide(value) ? 2 * value.length : value.length)
  if (typeof value !== 'object' || value === null) return MEMBER
  if (ArrayBuffer.isView(value)) return OBJECT + value.byteLength
  const members: unknown[] =
    value instanceof Map ? [...value].flat() : value instanceof Set ? [...value] : Object.values(value)
  let bytes = OBJECT
  for (const member of members)
    bytes += MEMBER + (typeof member === 'object' || typeof member === 'string' ? memoryOf(member) : 0)
  return bytes
}
