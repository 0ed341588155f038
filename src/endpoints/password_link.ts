// GET /password/{token} and POST /password: a user sets a password with a one-time link from an operator. Opening the link does not use it up,
// because mail scanners and previews open links too.
import type { App } from '../context.ts'
import { parseForm, type Reply, type Request } from '../http/message.ts'
import { OAuthError } from '../lib/error.ts'
import { html } from '../lib/html.ts'
import { newAuditEvent, sentBy } from '../oauth/audit.ts'
import { MIN_PASSWORD, passwordFault } from '../oauth/sign_in/new_password.ts'
import { PASSWORD_PATH, parsePasswordLink } from '../oauth/sign_in/password_link.ts'
import type { User } from '../records/user.ts'
import { crossSite, isForeign } from './origin.ts'
import { messagesOf } from './pages/language.ts'
import { page, waysOn } from './pages/pages.ts'
import { secretField } from './pages/secret_field.ts'
import { basePath } from './pages/urls.ts'

/** The page that a link opens. */
export async function showPasswordLink(app: App, request: Request): Promise<Reply> {
  const { token = '' } = request.params
  const link = parsePasswordLink(token)
  const user = link && (await app.store.findLinkedUser({ ...link, now: app.clock.now() }))
  return user ? formPage(app, request, user, token) : refused(app, request)
}

/** Sets the password of the form. Everything about the form is checked before the link is used up. */
export async function setPassword(app: App, request: Request): Promise<Reply> {
  if (isForeign(app, request)) throw crossSite()
  const { token = '', new_password = '', new_password_again = '' } = parseForm(request)
  const link = parsePasswordLink(token)
  const user = link && (await app.store.findLinkedUser({ ...link, now: app.clock.now() }))
  if (!user) return refused(app, request)
  const problem = passwordFault(new_password, new_password_again)
  if (problem) return formPage(app, request, user, token, problem)
  const password_hash = await app.crypto.hashPassword(new_password)
  // Another request may have used the link while the password was hashed.
  const event = newAuditEvent(app, { action: 'user_password_set', actor_id: user.id, ...sentBy(request) })
  const used = { ...link, password_hash, now: app.clock.now() }
  if (!(await app.store.recorded('usePasswordLink', used, event))) return refused(app, request)
  return donePage(app, request)
}

function formPage(
  app: App,
  request: Request,
  user: User,
  token: string,
  problem?: ReturnType<typeof passwordFault>,
): Reply {
  const messages = messagesOf(request)
  const { passwordLink: t } = messages
  const described = problem && html` aria-invalid="true" aria-describedby="problem"`
  const field = (name: string, label: string, first: boolean) =>
    secretField(messages, {
      name,
      label,
      autocomplete: 'new-password',
      more: html` minlength="${MIN_PASSWORD}"${first && html` autofocus`}${described}`,
    })
  return page(
    app,
    messages,
    t.title,
    html`<h1>${t.title}</h1>
<p class="soft">${t.lead(MIN_PASSWORD)}</p>
${problem && html`<p class="note bad" role="alert" id="problem">${t.problems[problem]}</p>`}
<form method="post" action="${basePath(app)}${PASSWORD_PATH}">
<input type="hidden" name="token" value="${token}">
<label for="email">${messages.login.email}</label>
<input type="text" id="email" autocomplete="username" readonly value="${user.email}">
${field('new_password', t.next, true)}${field('new_password_again', t.again, false)}<button class="main wide">${t.submit}</button>
</form>`,
    { status: problem ? 422 : 200, scripts: true },
  )
}

function donePage(app: App, request: Request): Reply {
  const messages = messagesOf(request)
  const { passwordLink: t } = messages
  return page(
    app,
    messages,
    t.done,
    html`<h1>${t.done}</h1>
<p class="soft">${t.ended}</p>
<p class="after"><a class="button main" href="${basePath(app)}/login">${messages.login.submit}</a></p>`,
  )
}

/** The same response for a wrong, expired, replaced and used link, so that it does not reveal which links exist. */
function refused(app: App, request: Request): Reply {
  request.notes.refusal = new OAuthError('not_found', 'the password link is not valid', {
    reason: 'password_link_invalid',
  })
  const messages = messagesOf(request)
  const { invalidTitle: title, invalid: text } = messages.passwordLink
  const again = { href: `${basePath(app)}/login`, text: messages.login.submit }
  const body = html`<h1>${title}</h1>\n<p class="note bad" role="alert">${text}</p>\n${waysOn(app, messages, { again })}`
  return page(app, messages, title, body, { status: 404 })
}
