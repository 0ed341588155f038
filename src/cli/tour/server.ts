// Calls the public listener of the running server, as a client does.
import { decodeJwt, decodeProtectedHeader } from 'jose'
import type { Config } from '../../config/schema.ts'
import { PATHS } from '../../oauth/metadata.ts'
import { originOf } from '../origin.ts'

const TIMEOUT_MS = 10_000

interface Credentials {
  id: string
  secret: string
}

/** Requests tokens from the running server. Throws an Error with a suggested correction when no server answers, or when it refuses. */
export const requestToken = (
  config: Config,
  form: Record<string, string>,
  credentials?: Credentials,
): Promise<Record<string, unknown>> => postForm(config, PATHS.token, form, credentials)

/** Pushes an authorization request to the running server (RFC 9126). Returns what the URL of the browser has in its place. Throws as requestToken() does. */
export async function pushedQuery(
  config: Config,
  form: Readonly<Record<'client_id', string>> & Record<string, string>,
): Promise<Record<string, string>> {
  const { request_uri } = await postForm(config, PATHS.par, form)
  return { client_id: form.client_id, request_uri: String(request_uri) }
}

async function postForm(
  { server }: Config,
  path: string,
  form: Record<string, string>,
  credentials?: Credentials,
): Promise<Record<string, unknown>> {
  const basic = credentials && Buffer.from(`${credentials.id}:${credentials.secret}`).toString('base64')
  const url = originOf(server.address) + path
  const response = await reach(url, {
    method: 'POST',
    headers: basic ? { authorization: `Basic ${basic}` } : {},
    body: new URLSearchParams(form),
  })
  const answer = (await response.json()) as Record<string, unknown>
  if (response.ok) return answer
  throw new Error(`${url} answered ${response.status} ${answer['error']}: ${answer['error_description']}`)
}

/** Throws an Error with a suggested correction when no server answers. */
export async function checkRunning({ server }: Config): Promise<void> {
  await reach(`${originOf(server.address)}/livez`)
}

async function reach(url: string, init?: RequestInit): Promise<Response> {
  try {
    return await fetch(url, { ...init, signal: AbortSignal.timeout(TIMEOUT_MS) })
  } catch {
    throw new Error(`no server answers at ${new URL(url).origin}: start it in another terminal with \`service serve\``)
  }
}

/** The header and the claims of a JWT, not verified. */
export const partsOfJwt = (token: string) => ({ header: decodeProtectedHeader(token), claims: decodeJwt(token) })

/** A value as one word of a shell. */
export const shellQuoted = (value: string): string =>
  /^[\w./:@=+-]+$/.test(value) ? value : `'${value.replaceAll("'", "'\\''")}'`
