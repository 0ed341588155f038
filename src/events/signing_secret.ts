// The secrets that sign deliveries. They are created here, and encrypted with data_encryption if it is configured.
import { randomBytes } from 'node:crypto'
import type { App } from '../context.ts'
import { DAY } from '../lib/time.ts'
import type { EventReceiver, SigningSecret } from '../records/event_receiver.ts'
import { eventReceiverRow } from '../store/sealed.ts'

const SECRET_BYTES = 32
/** Seconds for which an earlier secret signs in addition to the current one. */
const SECRET_OVERLAP = DAY
/** Maximum number of secrets. Each of them adds a signature to every delivery. */
const MAX_SECRETS = 3

/** A new secret in the form of Standard Webhooks. */
export const newSigningSecret = (): string => `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`

/** The secrets after a rotation, the current one first. */
export const rotatedSigningSecrets = (
  secrets: readonly SigningSecret[],
  secret: string,
  now: number,
): SigningSecret[] =>
  [{ secret }, ...secrets.map(({ until = now + SECRET_OVERLAP, ...each }) => ({ ...each, until }))].slice(
    0,
    MAX_SECRETS,
  )

type StoredSecret = Pick<EventReceiver, 'secret' | 'secret_clear'>

/** The secrets of a receiver in the form that its row stores. */
export async function sealReceiverSecret({ atRest }: App, id: string, secret: unknown): Promise<StoredSecret> {
  const text = JSON.stringify(secret)
  if (!atRest) return { secret: undefined, secret_clear: text }
  return { secret: await atRest.seal('event_receiver', eventReceiverRow(id), text), secret_clear: undefined }
}

/** The stored secrets of a receiver as JSON text. Throws when they cannot be decrypted. */
async function openText({ atRest }: App, { id, secret, secret_clear = '[]' }: EventReceiver): Promise<string> {
  if (secret === undefined) return secret_clear
  if (!atRest) throw new Error('data_encryption.driver is not set, and the secret was encrypted with it')
  return atRest.open('event_receiver', eventReceiverRow(id), secret)
}

/** The Authorization header of a push stream; empty without one. */
export const openPushHeader = async (app: App, receiver: EventReceiver): Promise<string> =>
  receiver.secret === undefined && receiver.secret_clear === undefined
    ? ''
    : (JSON.parse(await openText(app, receiver)) as string)

/** The secrets that sign now, the current one first. */
export async function openSigningSecrets(app: App, receiver: EventReceiver): Promise<SigningSecret[]> {
  const now = app.clock.now()
  const stored = JSON.parse(await openText(app, receiver)) as SigningSecret[]
  return stored.filter(({ until = now + 1 }) => until > now)
}
