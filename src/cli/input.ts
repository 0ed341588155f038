// Input of commands beside their flags: items, secrets and documents, from files or standard input.
import { createReadStream } from 'node:fs'
import { isObject } from '../lib/json.ts'
import { UsageError } from './output.ts'

const MAX_BYTES = 1024 * 1024

/** The text of a file; `-` is standard input. Throws UsageError when it cannot be read or is larger than `maxBytes`, because a device never ends. */
export async function readText(file: string, maxBytes = MAX_BYTES): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  try {
    const source: AsyncIterable<Buffer> = file === '-' ? process.stdin : createReadStream(file)
    for await (const chunk of source) {
      chunks.push(chunk)
      bytes += chunk.length
      if (bytes > maxBytes) break
    }
  } catch (error) {
    throw new UsageError(`${placeOf(file)} cannot be read: ${(error as Error).message}`)
  }
  if (bytes > maxBytes) throw new UsageError(`${placeOf(file)} holds more than ${maxBytes} bytes`)
  return Buffer.concat(chunks).toString('utf8')
}

const placeOf = (file: string) => (file === '-' ? 'standard input' : file)

/** The JSON object in a file or on standard input (`-`). Throws UsageError for anything else, and beyond 1 MiB. */
export async function readItem(file: string): Promise<Record<string, unknown>> {
  const text = await readText(file)
  let item: unknown
  try {
    item = JSON.parse(text)
  } catch {}
  if (!isObject(item)) throw new UsageError(`${placeOf(file)} must hold a JSON object`)
  return item
}

/** The secret in a file or on standard input (`-`), without the newline at its end. Throws UsageError when it cannot be read. */
export const readSecret = async (file: string): Promise<string> => (await readText(file)).replace(/\r?\n$/, '')
