// GET and POST /connect/{provider}, and its callback: a user lets a broker resource have tokens of a provider.
import type { App } from '../app.ts'
import { isKey } from '../broker/apikey.ts'
import {
  beginConnect,
  checkEnabled,
  connectAs,
  type Doer,
  finishConnect,
  readWanted,
  type Wanted,
} from '../broker/connect.ts'
import { protocolOf } from '../broker/protocols.ts'
import { configOf } from '../broker/provider.ts'
import { apikeyConfig } from '../config/provider_record.ts'
import { type Params, parseForm, parseParams, type Reply, type Request, redirect } from '../http/message.ts'
import { OAuthError } from '../lib/error.ts'
import { sentBy } from '../oauth/audit.ts'
import { PATHS } from '../oauth/metadata.ts'
import { html, page } from './pages.ts'
import { checkForm, findSignedIn, type SignedIn, sessionToken } from './session.ts'
import { basePath, placeOf, toLogin } from './urls.ts'

const slugOf = ({ params }: Request): string => params['provider'] ?? ''

/** Who does something at a browser, for the audit trail. */
export const doerOf = (request: Request, { user }: SignedIn): Doer => ({ actor_id: user.id, ...sentBy(request) })

/** Sends a user to the provider, or asks for a key of it. */
export async function startConnect(app: App, request: Request): Promise<Reply> {
  checkEnabled(app)
  const signedIn = await findSignedIn(app, request)
  if (!signedIn) return toLogin(app, placeOf(request))
  const wanted = await readWanted(app, slugOf(request), parseParams(request.query))
  if (protocolOf(wanted.provider).connects === 'key') return keyPage(app, signedIn, wanted)
  return redirect(await beginConnect(app, signedIn.user.id, wanted))
}

/** Takes a user back from the provider. */
export async function connectCallback(app: App, request: Request): Promise<Reply> {
  checkEnabled(app)
  const params = parseParams(request.query)
  if (params.state === undefined)
    throw new OAuthError('invalid_request', 'state is missing', { reason: 'missing_state' })
  const signedIn = await findSignedIn(app, request)
  if (!signedIn) throw new OAuthError('access_denied', 'you are not signed in', { reason: 'not_signed_in' })
  return redirect(await finishConnect(app, { slug: slugOf(request), params }, doerOf(request, signedIn)))
}

const purposeOf = ({ provider }: Wanted) => `connect ${provider.id}`

function keyPage(app: App, signedIn: SignedIn, wanted: Wanted, problem?: string): Reply {
  const { provider, resource, return_url } = wanted
  const { issuance_instructions_url: help } = configOf(provider, apikeyConfig)
  return page(
    `Connect ${provider.display_name}`,
    html`<h1>Connect <bdi>${provider.display_name}</bdi></h1>
<p class="soft">so that <bdi>${resource.display_name}</bdi> can be used in your name.</p>
${problem && html`<p class="note bad" role="alert" id="problem">${problem}</p>`}
<form method="post" action="${basePath(app)}${PATHS.connect}/${provider.slug}">
<input type="hidden" name="csrf_token" value="${sessionToken(app, signedIn, purposeOf(wanted))}">
<input type="hidden" name="resource" value="${resource.slug}">
<input type="hidden" name="return_url" value="${return_url}">
<label for="api_key">Key of <bdi>${provider.display_name}</bdi></label>
<input type="password" id="api_key" name="api_key" autocomplete="off" required maxlength="4096" autofocus${problem && html` aria-describedby="problem"`}>
<button class="main wide">Connect</button>
</form>
${help && html`<p class="soft after"><a href="${help}" rel="noreferrer">Where to find your key</a></p>`}
<p class="soft after">It is stored encrypted. You can end this at any time under <a href="${basePath(app)}${PATHS.connections}">your connections</a>.</p>`,
    { status: problem ? 422 : 200 },
  )
}

/** Stores the key that a user typed in. */
export async function storeKey(app: App, request: Request): Promise<Reply> {
  checkEnabled(app)
  const form: Params = parseForm(request)
  const signedIn = await findSignedIn(app, request)
  if (!signedIn) throw new OAuthError('access_denied', 'you are not signed in', { reason: 'not_signed_in' })
  const wanted = await readWanted(app, slugOf(request), form)
  checkForm(app, request, signedIn, purposeOf(wanted), form.csrf_token)
  if (protocolOf(wanted.provider).connects !== 'key')
    throw new OAuthError('invalid_target', 'this provider takes no key', { reason: 'no_key_step' })
  const api_key = form.api_key?.trim() ?? ''
  if (!isKey(api_key)) return keyPage(app, signedIn, wanted, 'This does not look like a key. Copy it once more.')
  const connection = { credential: { api_key, tokens: [] }, granted: [] }
  await connectAs(app, doerOf(request, signedIn), wanted.provider, connection)
  return redirect(wanted.return_url)
}
