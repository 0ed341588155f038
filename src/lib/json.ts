// JSON objects from untrusted sources.
import { isUtf8 } from 'node:buffer'

/** True for an object that is neither an array nor null. */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const MAX_DEPTH = 64
const [QUOTE, BACKSLASH] = [0x22, 0x5c]
/** The change of the nesting depth, by character code. */
const LEVELS: Readonly<Record<number, number>> = { 91: 1, 123: 1, 93: -1, 125: -1 }

/** Whether a text has more opening brackets than it may have levels. Tokens and proofs have few, so they are not read byte by byte. */
function hasManyBrackets(json: Buffer): boolean {
  let found = 0
  for (const bracket of ['{', '['])
    for (let at = json.indexOf(bracket); at >= 0; at = json.indexOf(bracket, at + 1))
      if (++found > MAX_DEPTH) return true
  return false
}

/** Whether arrays and objects are nested so deeply that a recursive function would overflow the stack. */
function isDeep(json: Buffer): boolean {
  if (!hasManyBrackets(json)) return false
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

/** Parses JSON. Undefined when the bytes are not UTF-8, not JSON, or nested too deeply. */
export function parseValue(bytes: Buffer): unknown {
  if (!isUtf8(bytes) || isDeep(bytes)) return undefined
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch {
    return undefined
  }
}

/** Parses a JSON object. Undefined when the bytes are not UTF-8, not JSON, nested too deeply, or not an object. */
export function parseObject(bytes: Buffer): Record<string, unknown> | undefined {
  const value = parseValue(bytes)
  return isObject(value) ? value : undefined
}

/** The member of an object that holds its JSON, when that was written together with it. */
export const JSON_TEXT = Symbol('JSON')

/** The JSON of a value, which may bring it along. Undefined for undefined. */
export const jsonOf = (value: unknown): string | undefined =>
  (value as { [JSON_TEXT]?: string } | null | undefined)?.[JSON_TEXT] ?? JSON.stringify(value)
