// The HTML pages for users: rendered by the server. They work without script: the only one shows what is typed into a field for a password, and is needed for passkeys.
import type { Config } from '../../config/schema.ts'
import type { App } from '../../context.ts'
import { htmlReply, type Reply, type Request } from '../../http/message.ts'
import type { OAuthError } from '../../lib/error.ts'
import { html, type Markup } from '../../lib/html.ts'
import type { Messages } from '../messages/en.ts'
import { languageButtons } from './language_choice.ts'
import { ACCOUNT_PATH, basePath, REQUESTS_PATH } from './urls.ts'

interface PageOptions {
  status?: number
  headers?: Record<string, string | string[]>
  /** Whether the page has fields for passwords, or passkeys. */
  scripts?: boolean
  /** The number of requests that wait for the decision of the person, for the line that leads there. */
  waiting?: number
  /** The local path of the page, when it offers the other languages. */
  place?: string
}

interface ErrorPageOptions extends PageOptions {
  title: string
  text: string
  /** What the application did wrong, in English, for its developers. */
  detail?: string
  /** The link back to the application, which receives the error. */
  back?: BackLink
  /** The link with which the person continues here. */
  again?: { href: string; text: string }
}

/** The way back to an application: a link, or a form. */
export interface BackLink {
  href?: string
  /** A form with a button of this text, for a response that is posted. */
  form?(text: string): Markup
  /** The host or scheme that it leads to. */
  place: string
}

/** A complete HTML page in the language of the messages. */
export function page(
  app: App,
  messages: Messages,
  title: string,
  body: Markup,
  { status = 200, headers = {}, scripts = false, place, waiting = 0 }: PageOptions = {},
): Reply {
  const { branding, config } = app
  const script = scripts && branding.script
  const document = html`<!doctype html>
<html lang="${messages.language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>${title}${branding.titleSuffix}</title>
<style>${branding.style}</style>
</head>
<body>
<main>
${branding.header}
${
  waiting > 0 &&
  html`<p class="note"><a href="${basePath(app)}${REQUESTS_PATH}">${messages.requests.waiting(waiting)}</a></p>
`
}${body}
</main>
${place !== undefined && languageButtons(app, messages, place)}${linksOf(config, messages)}${
  script &&
  html`<script src="${script.path}"></script>
`
}</body>
</html>
`
  return htmlReply(status, document.text, {
    'content-security-policy': script ? branding.scriptPolicy : branding.policy,
    ...headers,
  })
}

/** The links of the operator: to support, terms and privacy policy. */
function linksOf({ ui }: Config, { links: t }: Messages): Markup | false {
  const links = [
    { href: ui.support_url, text: t.support },
    { href: ui.terms_url, text: t.terms },
    { href: ui.privacy_url, text: t.privacy },
  ].filter(({ href }) => href !== '')
  return (
    links.length > 0 &&
    html`<footer class="links">${links.map(({ href, text }) => html`<a href="${href}">${text}</a>\n`)}</footer>\n`
  )
}

/** The button that leads back to an application. */
export const backButton = (messages: Messages, { href, form, place }: BackLink): Markup =>
  form?.(messages.returnTo(place)) ??
  html`<p class="after"><a class="button main" href="${href}">${messages.returnTo(place)}</a></p>`

/** The links that lead on from a page. A page without another one has the link to the account page, so that no page is a dead end. */
export function waysOn(
  app: App,
  messages: Messages,
  { back, again }: Pick<ErrorPageOptions, 'back' | 'again'>,
): Markup {
  const home = { href: basePath(app) + ACCOUNT_PATH, text: messages.account.title }
  const other = again ?? (back ? undefined : home)
  return html`${back && backButton(messages, back)}
${other && html`<p class="after"><a class="button" href="${other.href}">${other.text}</a></p>`}`
}

/** A page with an error and advice for the user. */
export const errorPage = (
  app: App,
  messages: Messages,
  { id, notes }: Pick<Request, 'id' | 'notes'>,
  { title, text, detail, back, again, ...options }: ErrorPageOptions,
): Reply =>
  page(
    app,
    messages,
    title,
    html`<h1>${title}</h1>
<p class="note bad" role="alert">${text}${detail && html`<br><code lang="en">${detail}</code>`}</p>
${waysOn(app, messages, { back, again })}
<p class="soft after">${messages.errors.advice}<br><code>${id}</code></p>`,
    { waiting: notes.waiting, ...options },
  )

/** The page of an error that was thrown. If the catalogue has no message for exactly this reason, the page also has the English description. */
export function thrownPage(
  app: App,
  messages: Messages,
  request: Pick<Request, 'id' | 'notes'>,
  error: OAuthError,
  options: Pick<ErrorPageOptions, 'back' | 'again' | 'headers'> = {},
): Reply {
  const { title } = messages.errors
  const texts: Readonly<Record<string, string>> = messages.errors.texts
  const exact = texts[error.more.reason ?? '']
  const text =
    exact ?? texts[error.reason.split('_', 1).join('')] ?? texts[error.code] ?? texts[fallbackOf(error)] ?? ''
  const detail = exact === undefined ? error.message : undefined
  return errorPage(app, messages, request, { ...options, status: error.status, title, text, detail })
}

const fallbackOf = ({ status }: OAuthError): keyof Messages['errors']['texts'] =>
  status < 500 ? 'invalid_request' : 'server_error'
