// The forms for second factors, on the account page and on the page that adds one before a sign-in continues.
import type { App } from '../../context.ts'
import { html, isolated, type Markup } from '../../lib/html.ts'
import { addOptions } from '../../oauth/sign_in/passkey.ts'
import type { Factor } from '../../records/user.ts'
import type { Messages } from '../messages/en.ts'
import { formToken, type SignedIn } from '../session.ts'
import { timeIn } from './language.ts'
import { qrCode } from './qr_code.ts'
import { basePath, FACTOR_PATH } from './urls.ts'

/** The purpose of the CSRF token of these forms. */
export const FACTOR_FORMS = 'second factor'
/** Maximum length of the name of a passkey. */
export const MAX_FACTOR_NAME = 64

export interface FactorPlace {
  app: App
  signedIn: SignedIn
  messages: Messages
  /** Where the person continues, as the forms carry it. Undefined: the account page. */
  redirect?: string | undefined
}

/** A form. `action` is what it does. */
function factorForm(
  { app, signedIn, redirect }: FactorPlace,
  action: string,
  body: Markup,
  attributes: Markup | false = false,
): Markup {
  return html`<form method="post" action="${basePath(app)}${FACTOR_PATH}"${attributes}>
<input type="hidden" name="csrf_token" value="${formToken(app, signedIn, FACTOR_FORMS)}">
<input type="hidden" name="action" value="${action}">${redirect !== undefined && html`\n<input type="hidden" name="redirect" value="${redirect}">`}
${body}
</form>`
}

/** The buttons that add a factor. */
export function addForms(place: FactorPlace, factors: readonly Factor[]): Markup {
  const { app, signedIn, messages } = place
  const { factor: t } = messages
  const options = signedIn.browser && addOptions(app, signedIn.browser, signedIn.user, factors)
  return html`${factorForm(place, 'add_app', html`<button class="wide">${t.addApp}</button>`)}
${
  options &&
  html`<noscript><p class="soft">${t.noScript}</p></noscript>
${factorForm(
  place,
  'add_passkey',
  html`<input type="hidden" name="passkey">
<p class="note bad" role="alert" hidden>${t.passkeyFailed}</p>
<label for="passkey-name">${t.passkeyName}</label>
<input type="text" id="passkey-name" name="name" maxlength="${MAX_FACTOR_NAME}" autocomplete="off">
<button class="wide">${t.addPasskey}</button>`,
  html` data-passkey="${JSON.stringify(options)}" hidden`,
)}`
}`
}

/** The factors of a user, each with a button that removes it. */
export function factorList(place: FactorPlace, factors: readonly Factor[]): Markup {
  const { messages } = place
  const { factor: t } = messages
  const item = ({ id, kind, name, created_at, last_used_at }: Factor) => {
    const text = name || t.kinds[kind]
    const used = last_used_at !== undefined && html`${messages.lastUsed(timeIn(messages, last_used_at))} · `
    return html`<li class="row"><span>${isolated(text)}
<span class="soft">${name && html`${t.kinds[kind]} · `}${used}${messages.since(timeIn(messages, created_at))}</span></span>
${factorForm(place, 'remove', html`<input type="hidden" name="id" value="${id}">\n<button aria-label="${t.removeFactor(text)}">${t.remove}</button>`)}</li>`
  }
  return html`<ul>${factors.map(item)}</ul>`
}

/** The number of recovery codes that are left, and the button that replaces them. */
export const recoveryForm = (place: FactorPlace, left: number): Markup =>
  html`<p class="after">${place.messages.factor.codesLeft(left)}</p>
${factorForm(place, 'recovery_codes', html`<button class="wide">${place.messages.factor.newCodes}</button>`)}`

interface NewApp {
  secret: string
  uri: string
  /** The secret, as the form carries it. */
  sealed: string
  isWrong: boolean
}

/** What a person needs to add an authenticator app: the secret as code and text, and the form that confirms it. */
export function appForm(place: FactorPlace, { secret, uri, sealed, isWrong }: NewApp): Markup {
  const { factor: t } = place.messages
  return html`<h1>${t.heading}</h1>
<p class="soft">${t.appLead}</p>
${isWrong && html`<p class="note bad" role="alert" id="problem">${t.wrongCode}</p>`}
${qrCode(uri)}
<p class="after"><a href="${uri}">${t.openApp}</a></p>
<p class="soft">${t.byHand}</p>
<p><code>${(secret.match(/.{1,4}/g) ?? []).join(' ')}</code></p>
${factorForm(
  place,
  'confirm_app',
  html`<input type="hidden" name="app" value="${sealed}">
<label for="code">${t.code}</label>
<input type="text" class="code" id="code" name="code" inputmode="numeric" autocomplete="one-time-code" required maxlength="16" autofocus${isWrong && html` aria-describedby="problem"`}>
<button class="main wide">${t.confirm}</button>`,
)}`
}

/** The recovery codes, once, with the way on. */
export const codesShown = (
  { messages }: FactorPlace,
  codes: readonly string[],
  href: string,
): Markup => html`<h1>${messages.factor.heading}</h1>
<p class="note warn">${messages.factor.codesLead}</p>
<ul class="codes">${codes.map((code) => html`<li><code>${code}</code></li>\n`)}</ul>
<p class="after"><a class="button main wide" href="${href}">${messages.start.continue}</a></p>`
