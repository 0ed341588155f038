// GET /account, and POST /account/{section}: the page on which signed-in users manage their account.
import type { App } from '../../context.ts'
import { parseForm, parseParams, type Reply, type Request, redirect } from '../../http/message.ts'
import { OAuthError } from '../../lib/error.ts'
import { html, isolated, type Markup } from '../../lib/html.ts'
import { accountName } from '../../records/user.ts'
import { isFromHere } from '../origin.ts'
import { messagesOf } from '../pages/language.ts'
import { page } from '../pages/pages.ts'
import { ACCOUNT_PATH, basePath, pathAndQuery, toLogin } from '../pages/urls.ts'
import { checkForm, findSignedIn } from '../session.ts'
import { applicationsSection } from './applications.ts'
import { connectionsSection } from './connections.ts'
import { languageSection } from './language.ts'
import { passwordSection } from './password.ts'
import { factorSection } from './second_factor.ts'
import { type AccountRequest, type AccountSection, type FormProblem, purposeOf } from './section.ts'
import { signInsSection } from './sign_ins.ts'

/** In the order of the page. */
const SECTIONS: readonly AccountSection[] = [
  applicationsSection,
  signInsSection,
  passwordSection,
  factorSection,
  connectionsSection,
  languageSection,
]

/** The account page. */
export async function showAccount(app: App, request: Request): Promise<Reply> {
  const account = await accountOf(app, request)
  return account ? accountPage(account, doneOf(request)) : toLogin(app, request, pathAndQuery(request))
}

/** Handles a form of the page without a confirmation, and shows the page again. */
export async function submitAccount(app: App, request: Request): Promise<Reply> {
  const section = SECTIONS.find(({ id }) => id === request.params['section'])
  if (!section?.submit) throw new OAuthError('not_found', 'the account page has no such section')
  const account = await accountOf(app, request)
  if (!account) return toLogin(app, request, ACCOUNT_PATH)
  const form = parseForm(request)
  checkForm(app, request, account.signedIn, purposeOf(section.id), form.csrf_token)
  const { problem, cookies = [], to } = await section.submit(account, form)
  if (problem) return accountPage(account, undefined, { section, problem })
  const place = to ?? `${ACCOUNT_PATH}?done=${section.id}#${section.id}`
  return redirect(basePath(app) + place, { 'set-cookie': cookies })
}

/** The section whose form was accepted. */
const doneOf = (request: Request): string | undefined =>
  isFromHere(request) ? parseParams(request.query).done : undefined

async function accountOf(app: App, request: Request): Promise<AccountRequest | undefined> {
  const signedIn = await findSignedIn(app, request)
  return signedIn && { app, request, signedIn, messages: messagesOf(request) }
}

interface Refused {
  section: AccountSection
  problem: FormProblem
}

async function accountPage(account: AccountRequest, done: string | undefined, refused?: Refused): Promise<Reply> {
  const { app, signedIn, messages } = account
  const { user } = signedIn
  const problemOf = (section: AccountSection) => (refused?.section === section ? refused.problem : undefined)
  const sections = await Promise.all(
    SECTIONS.map(async (section) => {
      const body = await section.render(account, problemOf(section))
      return html`<section aria-labelledby="${section.id}">
<h2 id="${section.id}">${section.heading(messages)}</h2>
${noteOf(account, section, done, problemOf(section))}${body}
</section>
`
    }),
  )
  return page(
    app,
    messages,
    messages.account.title,
    html`<h1>${messages.account.title}</h1>
<p class="soft">${messages.signedInAs(isolated(accountName(user)))}</p>
<nav aria-label="${messages.account.parts}">${SECTIONS.map(({ id, heading }) => html`<a href="#${id}">${heading(messages)}</a>\n`)}</nav>
${sections}`,
    {
      status: refused?.problem.status,
      headers: refused?.problem.headers,
      scripts: true,
      waiting: account.request.notes.waiting,
    },
  )
}

/** What the last form of a section did, or why it was not accepted. */
function noteOf(
  { messages }: AccountRequest,
  { id, done }: AccountSection,
  doneId: string | undefined,
  problem: FormProblem | undefined,
): Markup | undefined {
  if (problem) return html`<p class="note bad" role="alert" id="${id}-problem">${problem.text}</p>\n`
  return doneId === id && done ? html`<p class="note" role="status">${done(messages)}</p>\n` : undefined
}
