// The parts of the sign-in page for second factors.
import type { App } from '../../context.ts'
import { html, type Markup } from '../../lib/html.ts'
import { signInOptions } from '../../oauth/sign_in/passkey.ts'
import type { BrowserKey } from '../../oauth/sign_in/pending_login.ts'
import type { Messages } from '../messages/en.ts'
import { loginToken } from '../session.ts'
import { basePath } from './urls.ts'

/** The field for the code of a second factor, after a first try that may have lacked only the code. */
export const codeField = ({ login: t }: Messages, checked: string): Markup => html`<p class="soft">${t.keepPassword}</p>
<input type="hidden" name="checked" value="${checked}">
<label for="code">${t.code}</label>
<input type="text" class="code" id="code" name="code" inputmode="text" autocapitalize="none" autocorrect="off" spellcheck="false" autocomplete="one-time-code" maxlength="32" autofocus>
<p class="soft">${t.codeHint}</p>
`

/** The button for passkeys, which the script shows. Undefined when passkeys are off. */
export function passkeyForm(
  app: App,
  browser: BrowserKey,
  { login: t }: Messages,
  on: { redirect: string | undefined; reauthenticate: boolean | undefined },
): Markup | undefined {
  const options = signInOptions(app, { browser: browser.key })
  return (
    options &&
    html`
<form method="post" action="${basePath(app)}/login" data-passkey="${JSON.stringify(options)}" hidden>
<input type="hidden" name="csrf_token" value="${loginToken(app, browser)}">
<input type="hidden" name="redirect" value="${on.redirect}">${on.reauthenticate && html`\n<input type="hidden" name="prompt" value="login">`}
<input type="hidden" name="passkey">
<p class="note bad" role="alert" hidden>${t.passkeyFailed}</p>
<button class="wide">${t.passkey}</button>
</form>`
  )
}
