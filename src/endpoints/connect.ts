// GET and POST /connect/{provider}, and its callback: a user lets a broker resource have tokens of a provider.

import { isApiKey } from '../broker/apikey.ts'
import {
  beginConnect,
  checkBrokerEnabled,
  connectAs,
  type Doer,
  finishConnect,
  readWanted,
  type WantedConnection,
} from '../broker/connect.ts'
import { protocolOf } from '../broker/protocols.ts'
import { configOf } from '../broker/provider.ts'
import { apikeyConfig } from '../config/provider_record.ts'
import type { App } from '../context.ts'
import { type Params, parseForm, parseParams, type Reply, type Request, redirect } from '../http/message.ts'
import { OAuthError } from '../lib/error.ts'
import { html, type Markup } from '../lib/html.ts'
import { sentBy } from '../oauth/audit.ts'
import { PATHS } from '../oauth/metadata.ts'
import { page } from './pages.ts'
import { checkForm, findSignedIn, isOfBrowser, type SignedIn, sessionToken } from './session.ts'
import { basePath, pathAndQuery, toLogin } from './urls.ts'

const slugOf = ({ params }: Request): string => params['provider'] ?? ''

/** Who does something at a browser, for the audit trail. */
export const doerOf = (request: Request, { user }: SignedIn): Doer => ({ actor_id: user.id, ...sentBy(request) })

/**
 * Sends a user to the provider, or asks for a key of it. A browser shows the account first: whoever can make a browser use another
 * session than the user thinks would have the user connect the account of somebody else.
 */
export async function startConnect(app: App, request: Request): Promise<Reply> {
  checkBrokerEnabled(app)
  const signedIn = await findSignedIn(app, request)
  if (!signedIn) return toLogin(app, pathAndQuery(request))
  const wanted = await readWanted(app, slugOf(request), parseParams(request.query))
  if (takesKey(wanted)) return keyPage(app, signedIn, wanted)
  if (isOfBrowser(request)) return connectPage(app, signedIn, wanted)
  return redirect(await beginConnect(app, signedIn.user.id, wanted))
}

/** Takes a user back from the provider. */
export async function connectCallback(app: App, request: Request): Promise<Reply> {
  checkBrokerEnabled(app)
  const params = parseParams(request.query)
  if (params.state === undefined)
    throw new OAuthError('invalid_request', 'state is missing', { reason: 'missing_state' })
  const signedIn = await findSignedIn(app, request)
  if (!signedIn) throw new OAuthError('access_denied', 'you are not signed in', { reason: 'not_signed_in' })
  return redirect(await finishConnect(app, { slug: slugOf(request), params }, doerOf(request, signedIn)))
}

const takesKey = ({ provider }: WantedConnection): boolean => protocolOf(provider).connects === 'key'
const purposeOf = ({ provider }: WantedConnection) => `connect ${provider.id}`

interface Step {
  status?: number
  /** What is asked for in the form. */
  fields?: Markup
  /** What stands below it. */
  after?: Markup
}
/** What is connected to whose account, and the button that goes on. */
function connectPage(
  app: App,
  signedIn: SignedIn,
  wanted: WantedConnection,
  { status, fields, after }: Step = {},
): Reply {
  const { provider, resource, return_url } = wanted
  const { user } = signedIn
  const here = new URLSearchParams({ resource: resource.slug, return_url })
  const again = new URLSearchParams({ redirect: `${PATHS.connect}/${provider.slug}?${here}`, prompt: 'login' })
  return page(
    `Connect ${provider.display_name}`,
    html`<h1>Connect <bdi>${provider.display_name}</bdi></h1>
<p class="soft">so that <bdi>${resource.display_name}</bdi> can be used in your name.</p>
<form method="post" action="${basePath(app)}${PATHS.connect}/${provider.slug}">
<input type="hidden" name="csrf_token" value="${sessionToken(app, signedIn, purposeOf(wanted))}">
<input type="hidden" name="resource" value="${resource.slug}">
<input type="hidden" name="return_url" value="${return_url}">
${fields}<button class="main wide">Connect</button>
</form>
${after}<footer class="soft"><span>Signed in as <bdi>${user.email ?? user.name}</bdi></span> <a href="${basePath(app)}/login?${again.toString()}">Use another account</a></footer>`,
    { status },
  )
}

function keyPage(app: App, signedIn: SignedIn, wanted: WantedConnection, problem?: string): Reply {
  const { provider } = wanted
  const { issuance_instructions_url: help } = configOf(provider, apikeyConfig)
  return connectPage(app, signedIn, wanted, {
    status: problem ? 422 : 200,
    fields: html`${problem && html`<p class="note bad" role="alert" id="problem">${problem}</p>`}
<label for="api_key">Key of <bdi>${provider.display_name}</bdi></label>
<input type="password" id="api_key" name="api_key" autocomplete="off" required maxlength="4096" autofocus${problem && html` aria-describedby="problem"`}>
`,
    after: html`${help && html`<p class="soft after"><a href="${help}" rel="noreferrer">Where to find your key</a></p>`}
<p class="soft after">It is stored encrypted. You can end this at any time under <a href="${basePath(app)}${PATHS.connections}">your connections</a>.</p>
`,
  })
}

/** Goes on from the page: to the provider, or with the key that the user typed in. */
export async function submitConnect(app: App, request: Request): Promise<Reply> {
  checkBrokerEnabled(app)
  const form: Params = parseForm(request)
  const signedIn = await findSignedIn(app, request)
  if (!signedIn) throw new OAuthError('access_denied', 'you are not signed in', { reason: 'not_signed_in' })
  const wanted = await readWanted(app, slugOf(request), form)
  checkForm(app, request, signedIn, purposeOf(wanted), form.csrf_token)
  if (!takesKey(wanted)) return redirect(await beginConnect(app, signedIn.user.id, wanted))
  const api_key = form.api_key?.trim() ?? ''
  if (!isApiKey(api_key)) return keyPage(app, signedIn, wanted, 'This does not look like a key. Copy it once more.')
  const connection = { credential: { api_key, tokens: [] }, granted: [] }
  await connectAs(app, doerOf(request, signedIn), wanted.provider, connection)
  return redirect(wanted.return_url)
}
