// What the sections of the account page share: their input, and their forms.
import type { App } from '../../context.ts'
import type { Params, Request } from '../../http/message.ts'
import { html, type Markup } from '../../lib/html.ts'
import { dayIn } from '../language.ts'
import type { Messages } from '../messages/en.ts'
import { type SignedIn, sessionToken } from '../session.ts'
import { ACCOUNT_PATH, basePath } from '../urls.ts'

export interface AccountRequest {
  app: App
  request: Request
  signedIn: SignedIn
  messages: Messages
}

/** Why a form was not accepted. */
export interface FormProblem {
  text: string
  status: number
  headers?: Record<string, string>
}

export interface Submitted {
  problem?: FormProblem
  cookies?: string[]
  /** The local path to redirect to instead of the account page. */
  to?: string
}

/** A section of the account page: what it shows, and what its forms do. */
export interface AccountSection {
  /** The id of its heading, and the last part of the path of its forms. */
  readonly id: string
  readonly heading: (messages: Messages) => string
  readonly render: (account: AccountRequest, problem: FormProblem | undefined) => Markup | Promise<Markup>
  readonly submit: (account: AccountRequest, form: Params) => Promise<Submitted>
  /** What the page says after a form was accepted. Undefined when the section itself shows it. */
  readonly done?: (messages: Messages) => string
}

/** The purpose of the CSRF token of the forms of a section. */
export const purposeOf = (id: string): string => `account ${id}`

/** A form of a section. */
export const sectionForm = ({ app, signedIn }: AccountRequest, id: string, body: Markup): Markup =>
  html`<form method="post" action="${basePath(app)}${ACCOUNT_PATH}/${id}">
<input type="hidden" name="csrf_token" value="${sessionToken(app, signedIn, purposeOf(id))}">
${body}
</form>`

/** A list, or the text that says that it is empty. */
export const itemList = (items: readonly Markup[], none: string): Markup =>
  items.length > 0 ? html`<ul>${items}</ul>` : html`<p>${none}</p>`

/** Since when something exists and when it was last used, as one line. */
export const timesOf = (messages: Messages, created_at: number, last_used_at: number | undefined): string =>
  [
    messages.since(dayIn(messages, created_at)),
    ...(last_used_at === undefined ? [] : [messages.lastUsed(dayIn(messages, last_used_at))]),
  ].join(' · ')
