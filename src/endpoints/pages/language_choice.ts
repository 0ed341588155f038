// The other languages below a page, and POST /language, which keeps the choice of a user in the browser and returns to the page.
import type { App } from '../../context.ts'
import { parseForm, type Reply, type Request, redirect } from '../../http/message.ts'
import { html, type Markup } from '../../lib/html.ts'
import type { Messages } from '../messages/en.ts'
import { crossSite, isForeign } from '../origin.ts'
import { LANGUAGES, languageCookie } from './language.ts'
import { basePath, safeRedirect } from './urls.ts'

/** The path of the form. */
export const LANGUAGE_PATH = '/language'

/** One button for each other language. `place` is the local path of the page. */
export const languageButtons = (app: App, messages: Messages, place: string): Markup =>
  html`<form class="languages" method="post" action="${basePath(app)}${LANGUAGE_PATH}">
<input type="hidden" name="redirect" value="${place}">
${LANGUAGES.filter((each) => each !== messages).map(
  ({ language, languageName }) =>
    html`<button name="language" value="${language}" lang="${language}">${languageName}</button>\n`,
)}</form>
`

/** Keeps the language that a user chose, and returns to the page. It needs no CSRF token, because it changes only the language. */
export function chooseLanguage(app: App, request: Request): Reply {
  if (isForeign(app, request)) throw crossSite()
  const { language, redirect: place } = parseForm(request)
  const cookie = languageCookie(app, language)
  return redirect(safeRedirect(app, place), cookie === undefined ? {} : { 'set-cookie': cookie })
}
