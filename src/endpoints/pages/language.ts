// The language of the pages for users. It is chosen once for each request: the choice of the user, then what the application asked
// for, then what the browser prefers, then English.
import type { App } from '../../context.ts'
import { parseCookies, queryParams, type RequestHead, splitTarget } from '../../http/message.ts'
import { deviceName } from '../../lib/device_name.ts'
import { html, type Markup } from '../../lib/html.ts'
import { DAY, HOUR } from '../../lib/time.ts'
import { de } from '../messages/de.ts'
import { en, type Messages } from '../messages/en.ts'
import { es } from '../messages/es.ts'
import { setCookie } from '../session.ts'

/** Every language, in the order in which the account page offers them. The first one is the default. */
export const LANGUAGES: readonly Messages[] = [en, de, es]

/** The cookie with the choice of the user: the tag of one of LANGUAGES. */
const COOKIE = 'service_language'
const COOKIE_AGE_SECONDS = 365 * DAY

/** The messages in the language of a request. `target` is the local path that a form returns to. */
export const messagesOf = (request: RequestHead, target?: string): Messages =>
  chosen(request) ?? asked(request, target) ?? preferred(request.headers['accept-language'])

/** The Set-Cookie header that keeps the choice of a user in a browser. Undefined for an unknown language. */
export const languageCookie = (app: App, language: string | undefined): string | undefined => {
  const messages = named(language)
  // Lax: the choice also counts when the browser comes from an application at another site.
  return messages && setCookie(app, COOKIE, messages.language, COOKIE_AGE_SECONDS, 'lax')
}

const named = (tag: string | undefined): Messages | undefined => LANGUAGES.find(({ language }) => language === tag)
/** The language of a tag such as de-AT: its first subtag (RFC 5646 §2.1). */
const primary = (tag: string): string => tag.split('-', 1).join('').toLowerCase()

const chosen = (request: RequestHead): Messages | undefined =>
  named(parseCookies(request).find(([name, value]) => name === COOKIE && named(value))?.[1])

/** `ui_locales` (OpenID Connect Core §3.1.2.1) of this request, or of the authorization request that the login returns to. */
function asked({ query }: RequestHead, target: string | undefined): Messages | undefined {
  const params = queryParams(query)
  const place = target ?? params.get('redirect') ?? ''
  const locales = params.get('ui_locales') ?? queryParams(splitTarget(place).query).get('ui_locales')
  return (locales ?? '').split(' ').flatMap((tag) => named(primary(tag)) ?? [])[0]
}

/** The parameter `ui_locales` of an authorization request, to pass it on to the consent page. */
export function localesOf({ query }: RequestHead): { ui_locales?: string } {
  const ui_locales = queryParams(query).get('ui_locales')
  return ui_locales ? { ui_locales } : {}
}

/** One range of Accept-Language with its weight (RFC 9110 §12.4.2). A weight that is malformed excludes its range. */
function rangeOf(text: string): { tag: string; weight: number } {
  const [range = '', ...parameters] = text.split(';').map((part) => part.trim())
  const weight = parameters.find((part) => /^q=/i.test(part))?.slice(2) ?? '1'
  return { tag: primary(range), weight: /^(0(\.\d{0,3})?|1(\.0{0,3})?)$/.test(weight) ? Number(weight) : 0 }
}

/** The language that Accept-Language prefers (RFC 9110 §12.5.4). English where it names none that exists. */
export function preferred(header = ''): Messages {
  const ranges = header.split(',').map(rangeOf)
  const weightOf = ({ language }: Messages): number => {
    const own = ranges.filter(({ tag }) => tag === language)
    const found = own.length > 0 ? own : ranges.filter(({ tag }) => tag === '*')
    return Math.max(0, ...found.map(({ weight }) => weight))
  }
  /** Languages with the same weight are preferred in the order of the header. */
  const placeOf = ({ language }: Messages): number => ranges.findIndex(({ tag }) => tag === language) >>> 0
  const [best] = LANGUAGES.filter((each) => weightOf(each) > 0).sort(
    (a, b) => weightOf(b) - weightOf(a) || placeOf(a) - placeOf(b),
  )
  return best ?? en
}

/** A time with its zone, as the language writes it, for people and for programs. `seconds` is an epoch time. */
export function timeIn({ language }: Messages, seconds: number): Markup {
  const date = new Date(seconds * 1000)
  const format = new Intl.DateTimeFormat(language, { ...TIME, timeZone: 'UTC', timeZoneName: 'short' })
  return html`<time datetime="${date.toISOString()}">${format.format(date)}</time>`
}
const TIME = { year: 'numeric', month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit' } as const

/** A day, as the language writes it. `seconds` is an epoch time. */
export const dayIn = ({ language }: Messages, seconds: number): string =>
  new Intl.DateTimeFormat(language, { dateStyle: 'long', timeZone: 'UTC' }).format(seconds * 1000)

/** A time to wait, rounded up, in the unit that people would use: 45 seconds, 12 minutes, 1 hour. */
export function waitIn({ language }: Messages, seconds: number): string {
  const [unit, size] = UNITS.find(([, each]) => seconds >= 2 * each) ?? (['second', 1] as const)
  const format = new Intl.NumberFormat(language, { style: 'unit', unit, unitDisplay: 'long' })
  return format.format(Math.max(1, Math.ceil(seconds / size)))
}
const UNITS = [
  ['hour', HOUR],
  ['minute', 60],
] as const

/** The browser and system of a User-Agent header, in words. Undefined when it names none that is known. */
export function browserName({ account: { signIns: t } }: Messages, user_agent: string | undefined): string | undefined {
  const { browser, system } = deviceName(user_agent)
  return browser && system ? t.browserOn(browser, system) : (browser ?? system)
}
