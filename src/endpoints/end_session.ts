// GET and POST /oauth/logout: an application signs its user out (OpenID Connect RP-Initiated Logout 1.0).
import type { App } from '../context.ts'
import { type Params, parseForm, parseParams, type Reply, type Request, redirect } from '../http/message.ts'
import { html, isolated } from '../lib/html.ts'
import { PATHS } from '../oauth/metadata.ts'
import { type IdTokenHint, verifyIdTokenHint } from '../oauth/sign_in/id_token_hint.ts'
import { accountName } from '../records/user.ts'
import type { Messages } from './messages/en.ts'
import { isForeign } from './origin.ts'
import { messagesOf } from './pages/language.ts'
import { page } from './pages/pages.ts'
import { signedOutPage } from './pages/signed_out.ts'
import { basePath } from './pages/urls.ts'
import { endSession, findSignedIn, type SignedIn } from './session.ts'

/**
 * Signs out the user that a valid ID token names, and redirects to a registered URI of its client. Any web site can send the browser of a
 * user here. So without that ID token the user must confirm, and the browser is not redirected.
 */
export async function logoutByClient(app: App, request: Request): Promise<Reply> {
  const params = request.method === 'POST' ? parseForm(request) : parseParams(request.query)
  const messages = messagesOf(request)
  const hint = await hintOf(app, params)
  const signedIn = await findSignedIn(app, request)
  if (!signedIn && isForeign(app, request)) return fromHere(app, messages, params)
  if (signedIn && signedIn.user.id !== hint?.sub) return askFirst(app, request, messages, signedIn)
  const headers = { 'set-cookie': await endSession(app, request, signedIn, hint?.client_id) }
  const back = hint && (await returnUri(app, hint, params))
  return back === undefined ? signedOutPage(app, messages, headers) : redirect(back, headers)
}

/** The ID token of the request; undefined when it is not valid, or `client_id` names another client. */
async function hintOf(app: App, { id_token_hint, client_id }: Params): Promise<IdTokenHint | undefined> {
  const hint = id_token_hint === undefined ? undefined : await verifyIdTokenHint(app, id_token_hint)
  return client_id === undefined || client_id === hint?.client_id ? hint : undefined
}

/** Where the browser returns: a URI that the client has registered, exactly as registered, with `state`. */
async function returnUri(app: App, { client_id }: IdTokenHint, params: Params): Promise<string | undefined> {
  const { post_logout_redirect_uri: uri, state } = params
  const client = await app.store.findClient({ client_id })
  if (uri === undefined || client?.status !== 'active' || !client.post_logout_redirect_uris?.includes(uri))
    return undefined
  return state === undefined ? uri : `${uri}${uri.includes('?') ? '&' : '?'}${new URLSearchParams({ state })}`
}

function askFirst(app: App, { notes }: Request, messages: Messages, { user }: SignedIn): Reply {
  const { signOut: t } = messages
  return page(
    app,
    messages,
    t.title,
    html`<h1>${t.question}</h1>
<p class="soft">${isolated(accountName(user))}</p>
<form method="post" action="${basePath(app)}/logout?then=page"><button class="main wide">${t.submit}</button></form>
<a class="button wide" href="${basePath(app)}/">${t.stay}</a>`,
    { waiting: notes.waiting },
  )
}

/** With a form of another site browsers do not send the session cookie. The same request is made again from a page of ours. */
function fromHere(app: App, messages: Messages, params: Params): Reply {
  const sent = Object.entries(params).filter((entry): entry is [string, string] => entry[1] !== undefined)
  const again = `${basePath(app)}${PATHS.endSession}?${new URLSearchParams(sent)}`
  const { signOut, start } = messages
  return page(
    app,
    messages,
    signOut.title,
    html`<h1>${signOut.title}</h1>\n<p class="after"><a class="button main wide" href="${again}">${start.continue}</a></p>`,
    { headers: { refresh: `0;url=${again}` } },
  )
}
