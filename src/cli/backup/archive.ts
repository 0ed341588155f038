// The backup file: a line that names the format, a line of JSON that lists the contents, then the files in chunks. Each chunk
// has a tag that binds it to its position and to the JSON line, under a key of this file only.
import { createHash, createHmac, randomBytes } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { decrypt, encrypt, KEY_BYTES, NONCE_BYTES, TAG_BYTES } from '../../crypto/aead.ts'
import type { AtRest } from '../../crypto/encryption.ts'
import { equalSecrets, newId } from '../../lib/id.ts'

const MAGIC = 'service-backup 1\n'
const CHUNK_BYTES = 1024 * 1024
const MAX_HEADER_BYTES = 1024 * 1024

export interface Entry {
  /** Name in the archive: `service.db` or `keys/<name>`. */
  name: string
  bytes: number
}
export interface Header {
  id: string
  /** RFC 3339. */
  created_at: string
  version: string
  entries: Entry[]
  /** The key of this file, encrypted. An unencrypted archive has none. */
  key?: string
}
export type Source = Entry & { file: string }

const rowOf = (id: string) => `backup:${id}`

/** Writes an archive, encrypted when data_encryption is configured. The file must not exist. */
export async function writeArchive(
  to: string,
  sources: readonly Source[],
  about: Pick<Header, 'created_at' | 'version'>,
  atRest: AtRest | undefined,
): Promise<void> {
  const [id, key] = [newId(), randomBytes(KEY_BYTES)]
  const header: Header = {
    id,
    ...about,
    entries: sources.map(({ name, bytes }) => ({ name, bytes })),
    ...(atRest ? { key: await atRest.seal('backup', rowOf(id), key.toString('base64url')) } : {}),
  }
  const text = JSON.stringify(header)
  const seal = sealer(text, atRest ? key : undefined)
  async function* chunks() {
    yield Buffer.from(`${MAGIC}${text}\n`)
    let index = 0
    for await (const chunk of inChunks(sources)) yield seal(chunk, index++, false)
    yield seal(Buffer.alloc(0), index, true)
  }
  await pipeline(Readable.from(chunks()), createWriteStream(to, { flags: 'wx', mode: 0o600, flush: true }))
}

/** The bytes of all files as one stream, cut into chunks of equal size. Throws when the size of a file changes meanwhile. */
async function* inChunks(sources: readonly Source[]): AsyncGenerator<Buffer> {
  let rest = Buffer.alloc(0)
  for (const { file, bytes } of sources) {
    let read = 0
    for await (const part of createReadStream(file, { highWaterMark: CHUNK_BYTES }) as AsyncIterable<Buffer>) {
      read += part.length
      rest = Buffer.concat([rest, part])
      for (; rest.length >= CHUNK_BYTES; rest = rest.subarray(CHUNK_BYTES)) yield rest.subarray(0, CHUNK_BYTES)
    }
    if (read !== bytes) throw new Error(`${file} changed while it was read`)
  }
  if (rest.length > 0) yield rest
}

/** The header of an archive. Throws when the file is not an archive or its key cannot be decrypted. */
export async function readHeader(file: string): Promise<Header> {
  const handle = await open(file, 'r')
  try {
    const { text } = await readHead(handle)
    return JSON.parse(text) as Header
  } finally {
    await handle.close()
  }
}

export interface Opening {
  atRest: AtRest | undefined
  /** Whether an unencrypted archive is accepted although data_encryption is configured. Its origin is not proven. */
  allowsClear: boolean
}

/** Reads an archive and passes on the bytes of its files in order. Throws when a part of it was changed or is missing. */
export async function readArchive(
  file: string,
  { atRest, allowsClear }: Opening,
  onBytes: (entry: Entry, bytes: Buffer) => Promise<void>,
): Promise<void> {
  const handle = await open(file, 'r')
  try {
    const { text, end } = await readHead(handle)
    const { id, key, entries } = JSON.parse(text) as Header
    if (key && !atRest)
      throw new Error('the backup is encrypted: configure data_encryption with the key that encrypted it')
    if (!key && atRest && !allowsClear)
      throw new Error(
        'the backup is not encrypted, but data_encryption is configured: its origin is not proven. Use --allow-unencrypted to restore it',
      )
    const opened = key && atRest ? Buffer.from(await atRest.open('backup', rowOf(id), key), 'base64url') : undefined
    const place = placer(entries, onBytes)
    for await (const chunk of openChunks(handle, end, unsealer(text, opened))) await place(chunk)
    if (!place.done()) throw damaged()
  } finally {
    await handle.close()
  }
}

const damaged = () => new Error('the backup is damaged: it was truncated or changed')

async function readHead(handle: FileHandle): Promise<{ text: string; end: number }> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(MAX_HEADER_BYTES), 0, MAX_HEADER_BYTES, 0)
  const start = buffer.subarray(0, bytesRead)
  const newline = start.indexOf('\n', MAGIC.length)
  if (!start.toString('latin1', 0, MAGIC.length).startsWith(MAGIC) || newline === -1)
    throw new Error('this is not a backup of the service, or a newer version wrote it')
  return { text: start.toString('utf8', MAGIC.length, newline), end: newline + 1 }
}

type Seal = (chunk: Buffer, index: number, last: boolean) => Buffer

/** Writes each chunk as length, content and tag. Without a key the content is readable and the tag only detects damage. */
function sealer(header: string, key: Buffer | undefined): Seal {
  return (chunk, index, last) => {
    const length = Buffer.alloc(4)
    length.writeUInt32BE(chunk.length)
    const bound = boundTo(header, index, last)
    if (!key) return Buffer.concat([length, chunk, checksum(bound, chunk)])
    return Buffer.concat([length, encrypt({ key, nonce: nonceOf(index), aad: bound }, chunk)])
  }
}

function unsealer(header: string, key: Buffer | undefined): (sealed: Buffer, index: number, last: boolean) => Buffer {
  return (sealed, index, last) => {
    const bound = boundTo(header, index, last)
    const chunk = key ? decrypt({ key, nonce: nonceOf(index), aad: bound }, sealed) : checked(bound, sealed)
    if (!chunk) throw damaged()
    return chunk
  }
}

/** The chunk of an archive that is not encrypted, or undefined when its checksum differs. */
function checked(bound: Buffer, sealed: Buffer): Buffer | undefined {
  const [chunk, tag] = [sealed.subarray(0, -TAG_BYTES), sealed.subarray(-TAG_BYTES)]
  return equalSecrets(checksum(bound, chunk).toString('hex'), tag.toString('hex')) ? chunk : undefined
}

const checksum = (bound: Buffer, chunk: Buffer) =>
  createHmac('sha256', bound).update(chunk).digest().subarray(0, TAG_BYTES)

function boundTo(header: string, index: number, last: boolean): Buffer {
  const place = Buffer.alloc(9)
  place.writeBigUInt64BE(BigInt(index))
  place.writeUInt8(last ? 1 : 0, 8)
  return Buffer.concat([createHash('sha256').update(header).digest(), place])
}

/** The key is used for one file only, so the number of the chunk is a sufficient nonce. */
function nonceOf(index: number): Buffer {
  const nonce = Buffer.alloc(NONCE_BYTES)
  nonce.writeBigUInt64BE(BigInt(index), NONCE_BYTES - 8)
  return nonce
}

async function* openChunks(handle: FileHandle, start: number, unseal: ReturnType<typeof unsealer>) {
  const length = Buffer.alloc(4)
  for (let [at, index] = [start, 0]; ; index++) {
    if ((await handle.read(length, 0, 4, at)).bytesRead !== 4) throw damaged()
    const bytes = length.readUInt32BE()
    if (bytes > CHUNK_BYTES) throw damaged()
    const sealed = Buffer.alloc(bytes + TAG_BYTES)
    if ((await handle.read(sealed, 0, sealed.length, at + 4)).bytesRead !== sealed.length) throw damaged()
    at += 4 + sealed.length
    yield unseal(sealed, index, bytes === 0)
    if (bytes > 0) continue
    if ((await handle.read(length, 0, 1, at)).bytesRead > 0) throw damaged()
    return
  }
}

/** Splits the stream into the files. */
function placer(entries: readonly Entry[], onBytes: (entry: Entry, bytes: Buffer) => Promise<void>) {
  let [at, taken] = [0, 0]
  const place = async (chunk: Buffer): Promise<void> => {
    for (let rest = chunk; rest.length > 0; ) {
      const entry = entries[at]
      if (!entry) throw damaged()
      const part = rest.subarray(0, entry.bytes - taken)
      await onBytes(entry, part)
      taken += part.length
      rest = rest.subarray(part.length)
      if (taken < entry.bytes) return
      ;[at, taken] = [at + 1, 0]
    }
  }
  return Object.assign(place, { done: () => at === entries.length })
}
