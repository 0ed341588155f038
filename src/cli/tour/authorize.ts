// `service try authorize`: the authorization code flow of a native client, with a browser that the user opens.

import { actionNamed } from '../../admin/index.ts'
import { issuerOf } from '../../config/issuer.ts'
import type { Config } from '../../config/schema.ts'
import { digest, newSecret } from '../../lib/id.ts'
import { UsageError } from '../output.ts'
import { type AdminClient, makeOnce } from '../send.ts'
import { openCallback } from './callback.ts'
import { checkRunning, partsOfJwt, pushedQuery, requestToken } from './server.ts'

/** A public native client: its loopback redirect URI matches any port. */
const CLIENT = {
  client_id: 'service-try',
  client_name: 'service try',
  application_type: 'native',
  grant_types: ['authorization_code', 'refresh_token'],
  redirect_uris: ['http://127.0.0.1/callback'],
}
/** Longer than the login page and the consent page are valid. */
const WAIT_MS = 10 * 60_000

export interface TryOptions {
  /** Slug of the resource. Default: the only resource. */
  resource?: string
  /** Separated by spaces. Default: all scopes of the resource. */
  scope?: string
  /** The port of the callback; 0 for any free port. */
  port: number
}

/** Runs the flow. `say` receives the address to open. Returns the answer of the token endpoint with its decoded token. */
export async function tryAuthorize(
  config: Config,
  sender: AdminClient,
  { resource, scope, port }: TryOptions,
  say: (url: string) => void,
): Promise<Record<string, unknown>> {
  await checkRunning(config)
  const target = await findResource(sender, resource)
  const callback = await openCallback(port)
  const interruption = awaitInterruption()
  let made: unknown
  try {
    made = await makeOnce(sender, 'client', CLIENT)
    const [state, code_verifier] = [newSecret(), newSecret()]
    const asked = {
      response_type: 'code',
      client_id: CLIENT.client_id,
      redirect_uri: callback.redirect_uri,
      resource: target.uri,
      scope: scope ?? target.scopes.map(({ name }) => name).join(' '),
      state,
      code_challenge: digest(code_verifier),
      code_challenge_method: 'S256',
    }
    const query = config.oauth.require_pushed_requests ? await pushedQuery(config, asked) : asked
    say(`${config.server.issuer}/oauth/authorize?${new URLSearchParams(query)}`)
    const code = readAnswer(
      await Promise.race([callback.answer(WAIT_MS), interruption.rejected]),
      state,
      issuerOf(config),
    )
    const { redirect_uri } = callback
    const form = { grant_type: 'authorization_code', client_id: CLIENT.client_id, redirect_uri, code, code_verifier }
    const answer = await requestToken(config, form)
    return { ...answer, ...partsOfJwt(String(answer['access_token'])) }
  } catch (error) {
    // A client that was made for this and has no token is of no use.
    const { client_id } = CLIENT
    if (made) await sender.send(actionNamed('client', 'delete'), { params: { client_id }, query: {} }).catch(() => {})
    throw error
  } finally {
    interruption.stop()
    callback.close()
  }
}

/** Rejects when the user ends the command, until it is stopped. */
function awaitInterruption(): { rejected: Promise<never>; stop(): void } {
  let end = (): void => {}
  const rejected = new Promise<never>((_, reject) => {
    end = () => reject(new Error('interrupted'))
  })
  rejected.catch(() => {})
  for (const signal of SIGNALS) process.on(signal, end)
  const stop = () => {
    for (const signal of SIGNALS) process.off(signal, end)
  }
  return { rejected, stop }
}
const SIGNALS = ['SIGINT', 'SIGTERM'] as const

/** The code in an answer (RFC 6749 §4.1.2, RFC 9207 §2.4). Throws for an error, and for an answer to another request. */
function readAnswer(answer: URLSearchParams, state: string, issuer: string): string {
  if (answer.get('state') !== state)
    throw new Error('the response has another state: it does not belong to this request')
  if (answer.get('iss') !== issuer) throw new Error(`the response comes from ${answer.get('iss')}, not from ${issuer}`)
  const error = answer.get('error')
  if (error) throw new Error(`the response is ${error}: ${answer.get('error_description') ?? ''}`)
  return answer.get('code') ?? ''
}

interface Target {
  slug: string
  uri: string
  scopes: { name: string }[]
}

async function findResource(sender: AdminClient, slug: string | undefined): Promise<Target> {
  const list = actionNamed('resource', 'list')
  const all = (await sender.send(list, { params: {}, query: { backend_kind: 'mint' } })) as Target[]
  const fitting = slug === undefined ? all : all.filter((each) => each.slug === slug)
  const [only] = fitting
  if (only && fitting.length === 1) return only
  const names = all.map((each) => each.slug).join(', ')
  throw new UsageError(
    names ? `--resource must name one of ${names}` : 'there is no resource yet: `service quickstart` makes one',
  )
}
