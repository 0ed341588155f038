// What the sections of the account page share: their input, and their forms.
import type { App } from '../../context.ts'
import type { Params, Request } from '../../http/message.ts'
import { html, isolated, type Markup } from '../../lib/html.ts'
import type { User } from '../../records/user.ts'
import type { Messages } from '../messages/en.ts'
import { timeIn } from '../pages/language.ts'
import { ACCOUNT_PATH, basePath } from '../pages/urls.ts'
import { formToken, type SignedIn } from '../session.ts'

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
  /** Undefined when its forms have a page of their own. */
  readonly submit?: (account: AccountRequest, form: Params) => Promise<Submitted>
  /** What the page says after a form was accepted. Undefined when the section itself shows it. */
  readonly done?: (messages: Messages) => string
}

/** The purpose of the CSRF token of the forms of a section. */
export const purposeOf = (id: string): string => `account ${id}`

/** A form of a section. */
export const sectionForm = ({ app, signedIn }: AccountRequest, id: string, body: Markup): Markup =>
  html`<form method="post" action="${basePath(app)}${ACCOUNT_PATH}/${id}">
<input type="hidden" name="csrf_token" value="${formToken(app, signedIn, purposeOf(id))}">
${body}
</form>`

/** The host of the provider where a user signs in. */
export const providerHost = ({ provider_issuer }: User): Markup =>
  isolated(provider_issuer === undefined ? '' : new URL(provider_issuer).host)

/** A list, or the text that says that it is empty. */
export const itemList = (items: readonly Markup[], none: string): Markup =>
  items.length > 0 ? html`<ul>${items}</ul>` : html`<p>${none}</p>`

/** When something was last used and since when it exists, as one line. */
export const timesOf = (messages: Messages, created_at: number, last_used_at: number | undefined): Markup =>
  html`${last_used_at !== undefined && html`${messages.lastUsed(timeIn(messages, last_used_at))} · `}${messages.since(timeIn(messages, created_at))}`
