// The format of password hashes from another system. Each sign-in computes such a hash, so its cost is bounded.

/** The parameters of an argon2id hash: memory in KiB, passes, lanes. */
interface Argon2Parameters {
  m: number
  t: number
  p: number
}

const ARGON2ID =
  /^\$argon2id\$v=19\$m=([1-9]\d{0,9}),t=([1-9]\d{0,3}),p=([1-9]\d{0,3})\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/
/** Maximum memory in KiB, memory times passes, and lanes of a hash from another system. */
const [MAX_MEMORY, MAX_WORK, MAX_LANES] = [131_072, 524_288, 16]
const SALT_BYTES = [8, 64] as const
const HASH_BYTES = [16, 64] as const

const BCRYPT = /^\$2[aby]\$(\d{2})\$[./A-Za-z0-9]{53}$/
/** The form of a hash, as a regular expression. It does not state the bounds of the cost. */
export const HASH_FORM = `${ARGON2ID.source}|${BCRYPT.source}`
/** Cost of a bcrypt hash from another system: 2^14 rounds take about a second in JavaScript. */
const [MIN_COST, MAX_COST] = [4, 14]

/** Whether a text is a bcrypt hash, of any cost. */
export const isBcrypt = (hash: string): boolean => BCRYPT.test(hash)

/** The parameters of an argon2id hash in PHC form. Undefined for any other text. */
export function argon2Parameters(hash: string): Argon2Parameters | undefined {
  const [, m, t, p] = ARGON2ID.exec(hash) ?? []
  return m === undefined ? undefined : { m: Number(m), t: Number(t), p: Number(p) }
}

/**
 * What decides how long a hash takes: its function with its cost. Also of the beginning of a hash, if that has the cost. Undefined for any other
 * text.
 */
export function kindOfHash(hash: string): string | undefined {
  const [, cost] = /^\$2[aby]\$(\d{2})/.exec(hash) ?? []
  if (cost !== undefined) return `bcrypt ${cost}`
  const [, m, t] = /^\$argon2id\$v=19\$m=(\d{1,10}),t=(\d{1,4})/.exec(hash) ?? []
  return m === undefined ? undefined : `argon2id ${m} ${t}`
}

/** How much work a kind of hash is, to be compared with kinds of the same function. */
export function costOfKind(kind: string): { name: string; cost: number } {
  const [name = '', first, passes = 1] = kind.split(' ')
  return { name, cost: Number(first) * Number(passes) }
}

/** A hash of a kind that no password has. */
export function exampleOf(kind: string): string {
  const [name, first, passes] = kind.split(' ')
  if (name === 'bcrypt') return `$2b$${first}$${'.'.repeat(53)}`
  return `$argon2id$v=19$m=${first},t=${passes},p=1$${'A'.repeat(22)}$${'A'.repeat(43)}`
}

/** The reason why a password hash from another system is not accepted. Undefined when it is accepted. */
export function hashProblem(hash: string): string | undefined {
  if (!isBcrypt(hash)) return argon2Problem(hash)
  const cost = Number(BCRYPT.exec(hash)?.[1])
  return cost < MIN_COST || cost > MAX_COST ? `must have a cost of ${MIN_COST} to ${MAX_COST}` : undefined
}

function argon2Problem(hash: string): string | undefined {
  const [, , , , salt = '', sum = ''] = ARGON2ID.exec(hash) ?? []
  const parameters = argon2Parameters(hash)
  if (!parameters)
    return 'must be an argon2id hash ($argon2id$v=19$m=...,t=...,p=...$salt$hash) or a bcrypt hash ($2b$...)'
  const { m, t, p } = parameters
  if (m > MAX_MEMORY || p > MAX_LANES || m * t > MAX_WORK)
    return `must have m at most ${MAX_MEMORY}, p at most ${MAX_LANES} and m times t at most ${MAX_WORK}`
  if (m < 8 * p) return 'must have m at least 8 times p'
  if (!hasBytes(salt, SALT_BYTES)) return `must have a salt of ${SALT_BYTES.join(' to ')} bytes`
  if (!hasBytes(sum, HASH_BYTES)) return `must have a hash of ${HASH_BYTES.join(' to ')} bytes`
  return undefined
}

/** Whether a text is canonical base64 without padding, of a number of bytes. The library refuses any other form. */
function hasBytes(text: string, [min, max]: readonly [number, number]): boolean {
  const bytes = Buffer.from(text, 'base64')
  return bytes.length >= min && bytes.length <= max && bytes.toString('base64').replaceAll('=', '') === text
}
