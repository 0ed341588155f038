// The response of the authorization endpoint to an application: by redirect, or posted as a form (OAuth 2.0 Form Post Response Mode).
import type { App } from '../../context.ts'
import { type Reply, type RequestHead, redirect } from '../../http/message.ts'
import { OAuthError } from '../../lib/error.ts'
import { html, type Markup } from '../../lib/html.ts'
import { placeOf } from '../../oauth/clients/redirect_uri.ts'
import { type ResponseAddress, responseMembers, responseUri } from '../../oauth/sign_in/authorization.ts'
import { endPushed } from '../../oauth/sign_in/pushed_request.ts'
import { messagesOf } from './language.ts'
import { type BackLink, page } from './pages.ts'

/** Sends a code or an error to the application. The page of a form sends it by script, or by its button. */
export async function respond(
  app: App,
  request: RequestHead,
  to: ResponseAddress,
  response: { code: string } | OAuthError,
): Promise<Reply> {
  if (response instanceof OAuthError) await endPushed(app, to)
  if (to.response_mode === undefined) return redirect(responseUri(app, to, response))
  const messages = messagesOf(request)
  const place = placeOf(to.redirect_uri)
  const form = postForm(to, responseMembers(app, to, response), messages.returnTo(place), html` data-now`)
  return page(app, messages, messages.start.continue, html`<h1>${messages.start.continue}</h1>\n${form}`, {
    scripts: true,
  })
}

/** The way from a page back to the application, which then gets the response. */
export function backWith(app: App, to: ResponseAddress, response: OAuthError): BackLink {
  const place = placeOf(to.redirect_uri)
  if (to.response_mode === undefined) return { href: responseUri(app, to, response), place }
  return { form: (text) => postForm(to, responseMembers(app, to, response), text), place }
}

/** A form whose only button has no name: it would hide the method with which the script sends the form. */
const postForm = (
  { redirect_uri }: ResponseAddress,
  members: Record<string, string>,
  text: string,
  attributes: Markup | false = false,
): Markup => html`<form method="post" action="${redirect_uri}"${attributes}>
${Object.entries(members).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">\n`)}<button class="main wide">${text}</button>
</form>`
