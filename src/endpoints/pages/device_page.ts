// The pages of the device authorization grant (RFC 8628 §3.3): the form for the user code, what the consent page says about a device, and
// the page after the decision.
import type { App } from '../../context.ts'
import type { Reply, Request } from '../../http/message.ts'
import { programName } from '../../lib/device_name.ts'
import { html, isolated, type Markup } from '../../lib/html.ts'
import { PATHS } from '../../oauth/metadata.ts'
import type { PolledRequest } from '../../records/polled_request.ts'
import { accountName } from '../../records/user.ts'
import type { Messages } from '../messages/en.ts'
import { formToken, type SignedIn } from '../session.ts'
import { browserName, messagesOf, waitIn } from './language.ts'
import { page, waysOn } from './pages.ts'
import { basePath, loginUrl } from './urls.ts'

/** What is wrong with the code that was entered. */
export interface CodeProblem {
  kind: 'unknown' | 'limited'
  /** How long to wait, in seconds. */
  wait?: number
}
const STATUS = { unknown: 422, limited: 429 } as const

/** The purpose of the CSRF token of the form. */
export const DEVICE_FORM = 'device'

/** The form for the user code. `user_code` is the code of a complete verification URI, or the one that was entered. */
export async function codePage(
  app: App,
  request: Request,
  signedIn: SignedIn,
  user_code: string | undefined,
  problem?: CodeProblem,
): Promise<Reply> {
  const messages = messagesOf(request)
  const { device: t } = messages
  const { user } = signedIn
  const another = await loginUrl(app, request, PATHS.device, true)
  const described = problem && html` aria-describedby="problem"`
  return page(
    app,
    messages,
    t.title,
    html`<h1>${t.title}</h1>
<p class="soft">${user_code && !problem ? t.compare : t.lead}</p>
${problem && html`<p class="note bad" role="alert" id="problem">${problem.kind === 'limited' ? t.limited(waitIn(messages, problem.wait ?? 0)) : t.unknown}</p>`}
<form method="post" action="${basePath(app)}${PATHS.device}">
<input type="hidden" name="csrf_token" value="${formToken(app, signedIn, DEVICE_FORM)}">
<label for="user_code">${t.label}</label>
<input type="text" class="code" id="user_code" name="user_code" value="${user_code}" required maxlength="64" autocomplete="off" autocapitalize="characters" spellcheck="false" placeholder="ABCD-EFGH"${(!user_code || problem) && html` autofocus`}${described}>
<p class="note warn">${t.phishing}</p>
<button class="main wide">${t.submit}</button>
</form>
<footer class="soft"><span>${messages.signedInAs(isolated(accountName(user)))}</span> <a href="${another}">${messages.useAnotherAccount}</a></footer>`,
    {
      waiting: request.notes.waiting,
      place: `${PATHS.device}${user_code && !problem ? `?${new URLSearchParams({ user_code })}` : ''}`,
      ...(problem ? { status: STATUS[problem.kind] } : {}),
      ...(problem?.wait ? { headers: { 'retry-after': String(problem.wait) } } : {}),
    },
  )
}

/** Where the code was requested from, as a row of the consent page. Of the header of a program only the name is shown: the program chose its text. */
export const deviceOrigin = (messages: Messages, { ip, user_agent }: PolledRequest): Markup => {
  const { device: t } = messages
  const program = programName(user_agent) ?? browserName(messages, user_agent) ?? t.unnamed
  return html`<div><dt>${t.requestedFrom}</dt><dd class="host">${ip}</dd><dd class="soft">${isolated(program)}</dd></div>`
}

/** The warning of the consent page. */
export const deviceWarning = ({ device: t }: Messages): Markup => html`<p class="note warn">${t.isYours}</p>`

/** The page after a decision that no redirect reports to a client: about a device, or a consent alone. */
export function decidedPage(app: App, http: Request, decision: 'allowed' | 'denied', isDevice: boolean): Reply {
  const messages = messagesOf(http)
  const t = isDevice ? messages.device : messages.consentAlone
  return page(
    app,
    messages,
    t[decision],
    html`<h1>${t[decision]}</h1>\n<p class="soft">${t[`${decision}Text`]}</p>\n${waysOn(app, messages, {})}`,
    { waiting: http.notes.waiting },
  )
}
