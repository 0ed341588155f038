// Mutations of the bytes of a request. They follow a seed, so that a failure can be reproduced.

/** Numbers in [0, 1) from a seed (mulberry32). */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** Texts that are known to break parsers and databases. */
const WORDS = [
  '\r\n',
  '\r\n\r\n',
  '\n',
  '\0',
  '%00',
  '%',
  '%zz',
  '%c0%af',
  '\xff\xfe',
  '\xed\xa0\x80',
  '../../../etc/passwd',
  '\\',
  '//',
  '?',
  '#',
  '&',
  '&&=&',
  '=',
  ';',
  '"',
  "'",
  "' OR 1=1 --",
  '<script>',
  '{}',
  '[]',
  'null',
  '{"__proto__":{"a":1}}',
  '__proto__',
  'constructor',
  '[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[',
  '1e400',
  '-1',
  '99999999999999999999',
  '\t',
  ' ',
  'A'.repeat(5000),
  '%41'.repeat(2000),
  'é',
  '\u202e',
  'Transfer-Encoding: chunked\r\n',
  'Content-Length: 0\r\n',
  'Content-Length: 4294967296\r\n',
  'Host: other.example\r\n',
  'Expect: 100-continue\r\n',
  'DPoP: a.b.c\r\n',
  'Authorization: Basic Og==\r\n',
  'Authorization: Bearer \r\n',
  'Cookie: service_session=x\r\n',
  'Origin: null\r\n',
] as const

type Random = () => number
const upTo = (random: Random, below: number) => Math.floor(random() * below)

type Mutation = (bytes: Buffer, random: Random, others: readonly Buffer[]) => Buffer
const spliced = (bytes: Buffer, at: number, remove: number, insert: Buffer) =>
  Buffer.concat([bytes.subarray(0, at), insert, bytes.subarray(at + remove)])

const MUTATIONS: readonly Mutation[] = [
  // One bit.
  (bytes, random) => {
    const copy = Buffer.from(bytes)
    const at = upTo(random, copy.length)
    copy.writeUInt8(copy.readUInt8(at) ^ (1 << upTo(random, 8)), at)
    return copy
  },
  // One byte, any.
  (bytes, random) => spliced(bytes, upTo(random, bytes.length), 1, Buffer.of(upTo(random, 256))),
  // Inserts a text, or overwrites bytes with it.
  (bytes, random) => {
    const word = Buffer.from(WORDS[upTo(random, WORDS.length)] as string, 'utf8')
    return spliced(bytes, upTo(random, bytes.length), random() < 0.5 ? 0 : word.length, word)
  },
  // Replaces a value with a text that parsers pass on to the code after them.
  (bytes, random) => {
    const places = [...bytes.toString('latin1').matchAll(/[=:" ]([^=&:"\r\n ]+)/g)]
    const place = places[upTo(random, places.length)]
    if (!place) return bytes
    const word = Buffer.from(WORDS[upTo(random, WORDS.length)] as string, 'utf8')
    return spliced(bytes, place.index + 1, (place[1] ?? '').length, word)
  },
  // Removes a piece, or repeats it.
  (bytes, random) => spliced(bytes, upTo(random, bytes.length), upTo(random, 40), Buffer.alloc(0)),
  (bytes, random) => {
    const at = upTo(random, bytes.length)
    return spliced(bytes, at, 0, bytes.subarray(at, at + upTo(random, 200)))
  },
  // Repeats a line, or adds a line of another request.
  (bytes, random, others) => {
    const lines = bytes.toString('latin1').split('\r\n')
    const source = (random() < 0.5 ? bytes : (others[upTo(random, others.length)] as Buffer)).toString('latin1')
    const from = source.split('\r\n')
    lines.splice(upTo(random, lines.length), 0, from[upTo(random, from.length)] as string)
    return Buffer.from(lines.join('\r\n'), 'latin1')
  },
  // The end is missing.
  (bytes, random) => bytes.subarray(0, upTo(random, bytes.length)),
]

/** A request of the corpus with one to four mutations. Half of them get a correct Content-Length. */
export function mutated(corpus: readonly Buffer[], random: Random): Buffer {
  let bytes = corpus[upTo(random, corpus.length)] as Buffer
  for (let n = 1 + upTo(random, 4); n > 0 && bytes.length > 0; n--)
    bytes = (MUTATIONS[upTo(random, MUTATIONS.length)] as Mutation)(bytes, random, corpus)
  return random() < 0.5 ? withLength(bytes) : bytes
}

/** Corrects the Content-Length, so that the body is parsed. */
function withLength(bytes: Buffer): Buffer {
  const text = bytes.toString('latin1')
  const end = text.indexOf('\r\n\r\n')
  if (end === -1) return bytes
  const body = bytes.subarray(end + 4)
  const head = text.slice(0, end).replace(/^content-length: *\d+$/im, `Content-Length: ${body.length}`)
  return Buffer.concat([Buffer.from(`${head}\r\n\r\n`, 'latin1'), body])
}
