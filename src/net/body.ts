// The size limits of a response: of its body, and of the bytes on the wire that such a body may take.
import type { Socket } from 'node:net'
import { promisify } from 'node:util'
import { brotliDecompress, gunzip, inflate } from 'node:zlib'
import { codeOf } from '../lib/error.ts'
import { FetchError } from './error.ts'
import type { FetchReply } from './fetcher.ts'

/** A chunk of one byte takes six bytes on the wire: `1\r\nx\r\n`. */
const WIRE_PER_BODY = 6
/** Bytes for the header fields, interim responses (1xx) and trailers. */
const WIRE_FOR_HEADS = 64 * 1024

/** The most bytes on the wire that a response with a body of maxBytes can take, with its head. */
export const wireBytes = (maxBytes: number): number => WIRE_PER_BODY * maxBytes + WIRE_FOR_HEADS

/**
 * Closes a connection when it has received more than `most()` bytes in total. A limit on the body alone would not count chunk extensions
 * and interim responses, which a peer may send without end.
 */
export function limitReceivedBytes(socket: Socket, host: string, most: () => number): void {
  socket.on('readable', () => {
    if (socket.bytesRead > most()) socket.destroy(new FetchError('too_large', host))
  })
}

/** Reads a body. Rejects when it has more than maxBytes. */
export async function readAll(body: AsyncIterable<Buffer>, maxBytes: number, host: string): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of body) {
    size += chunk.length
    if (size > maxBytes) throw new FetchError('too_large', host)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

const DECODERS = new Map([
  ['gzip', promisify(gunzip)],
  ['x-gzip', promisify(gunzip)],
  ['deflate', promisify(inflate)],
  ['br', promisify(brotliDecompress)],
])

/** Decompresses a body. Rejects when the result has more than maxBytes. Nested codings are refused, because only decompression bombs use them. */
export async function decompressed(
  body: Buffer,
  headers: FetchReply['headers'],
  maxBytes: number,
  host: string,
): Promise<Buffer> {
  const coding = (headers['content-encoding'] ?? '').trim().toLowerCase()
  if (coding === '' || coding === 'identity' || body.length === 0) return body
  const decode = DECODERS.get(coding)
  if (!decode) throw new FetchError('bad_response', host, 'unknown content-encoding')
  try {
    return await decode(body, { maxOutputLength: maxBytes })
  } catch (error) {
    throw new FetchError(codeOf(error) === 'ERR_BUFFER_TOO_LARGE' ? 'too_large' : 'bad_response', host, codeOf(error))
  }
}
