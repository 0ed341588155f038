// Compresses answers for callers that accept it.
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { Reply, RequestHead } from './message.ts'

const pack = promisify(gzip)
/** Smaller bodies fit into one packet anyway. */
const MIN_BYTES = 1400

/** The answer with a compressed body, if the caller accepts gzip and the body is long enough. */
export async function compressed(reply: Reply, { headers }: RequestHead): Promise<Reply> {
  if (reply.body.length < MIN_BYTES) return reply
  const vary = { ...reply.headers, vary: 'Accept-Encoding' }
  if (!acceptsGzip(headers['accept-encoding'] ?? '')) return { ...reply, headers: vary }
  return { ...reply, headers: { ...vary, 'content-encoding': 'gzip' }, body: await pack(reply.body) }
}

const acceptsGzip = (accepted: string): boolean =>
  accepted.split(',').some((each) => /^\s*gzip\s*(;\s*q=(?!0(\.0*)?\s*$)[\d.]+\s*)?$/.test(each))
