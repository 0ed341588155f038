// JSON that others wrote: what is read of it is objects.
import { isUtf8 } from 'node:buffer'

/** True for what has members: no list, and not null. */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const MAX_DEPTH = 64
const [QUOTE, BACKSLASH] = [0x22, 0x5c]
/** By character code: how many levels further in it leads. */
const LEVELS: Readonly<Record<number, number>> = { 91: 1, 123: 1, 93: -1, 125: -1 }

/** Whether lists and objects are nested in each other so deeply that what walks through them would run out of stack. */
function isDeep(json: Buffer): boolean {
  let [depth, inText] = [0, false]
  for (let i = 0; i < json.length; i++) {
    const code = json[i] as number
    if (code === QUOTE) inText = !inText
    else if (inText) i += code === BACKSLASH ? 1 : 0
    else depth += LEVELS[code] ?? 0
    if (depth > MAX_DEPTH) return true
  }
  return false
}

/** The JSON object in some bytes; undefined when they are no UTF-8, no JSON, nested too deeply, or anything but an object. */
export function parseObject(bytes: Buffer): Record<string, unknown> | undefined {
  if (!isUtf8(bytes) || isDeep(bytes)) return undefined
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8'))
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}
