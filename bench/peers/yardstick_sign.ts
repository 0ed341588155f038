// The thread of the yardstick that signs.
import { type KeyObject, sign } from 'node:crypto'
import { workerData } from 'piscina'
import { nameThread } from '../../src/lib/threads/thread_name.ts'

nameThread('crypto')
const key = { key: workerData as KeyObject, dsaEncoding: 'ieee-p1363' as const }
const header = Buffer.from(JSON.stringify({ typ: 'at+jwt', alg: 'ES256', kid: 'k'.repeat(43) })).toString('base64url')

export default (payloads: string): string[] =>
  (JSON.parse(payloads) as string[]).map((payload) => {
    const input = `${header}.${Buffer.from(payload).toString('base64url')}`
    return `${input}.${sign('sha256', Buffer.from(input), key).toString('base64url')}`
  })
