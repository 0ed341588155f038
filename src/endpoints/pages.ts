// The HTML pages for users: rendered by the server, without scripts.
import type { Config } from '../config/schema.ts'
import type { App } from '../context.ts'
import { htmlReply, type Reply } from '../http/message.ts'
import type { OAuthError } from '../lib/error.ts'
import { html, type Markup } from '../lib/html.ts'
import type { Messages } from './messages/en.ts'

interface PageOptions {
  status?: number
  headers?: Record<string, string | string[]>
}

interface ErrorPageOptions extends PageOptions {
  title: string
  text: string
  /** What the application did wrong, in English, for its developers. */
  detail?: string
  /** The link back to the application, which receives the error. */
  back?: { href: string; place: string }
}

/** A complete HTML page in the language of the messages. */
export function page(
  { branding, config }: App,
  messages: Messages,
  title: string,
  body: Markup,
  { status = 200, headers = {} }: PageOptions = {},
): Reply {
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
${body}
</main>
${linksOf(config, messages)}</body>
</html>
`
  return htmlReply(status, document.text, { 'content-security-policy': branding.policy, ...headers })
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

/** A page with an error and advice for the user. */
export const errorPage = (
  app: App,
  messages: Messages,
  requestId: string,
  { title, text, detail, back, ...options }: ErrorPageOptions,
): Reply =>
  page(
    app,
    messages,
    title,
    html`<h1>${title}</h1>
<p class="note bad" role="alert">${text}${detail && html`<br><code lang="en">${detail}</code>`}</p>
${back && html`<p class="after"><a class="button main" href="${back.href}">${messages.returnTo(back.place)}</a></p>`}
<p class="soft after">${messages.errors.advice}<br><code>${requestId}</code></p>`,
    options,
  )

/** The page of an error that was thrown. If the catalogue has no message for exactly this reason, the page also has the English description. */
export function thrownPage(
  app: App,
  messages: Messages,
  requestId: string,
  error: OAuthError,
  options: Pick<ErrorPageOptions, 'back' | 'headers'> = {},
): Reply {
  const { title } = messages.errors
  const texts: Readonly<Record<string, string>> = messages.errors.texts
  const exact = texts[error.more.reason ?? '']
  const text =
    exact ?? texts[error.reason.split('_', 1).join('')] ?? texts[error.code] ?? texts[fallbackOf(error)] ?? ''
  const detail = exact === undefined ? error.message : undefined
  return errorPage(app, messages, requestId, { ...options, status: error.status, title, text, detail })
}

const fallbackOf = ({ status }: OAuthError): keyof Messages['errors']['texts'] =>
  status < 500 ? 'invalid_request' : 'server_error'
