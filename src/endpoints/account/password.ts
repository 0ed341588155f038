// The password of a local account. A change requires the current password, and ends all other sign-ins.
import { MAX_PASSWORD_BYTES } from '../../crypto/passwords.ts'
import type { Params } from '../../http/message.ts'
import { html, type Markup } from '../../lib/html.ts'
import { audit, newAuditEvent } from '../../oauth/audit.ts'
import { MIN_PASSWORD, passwordFault } from '../../oauth/sign_in/new_password.ts'
import { verifyPassword } from '../../oauth/sign_in/password_kinds.ts'
import type { User } from '../../records/user.ts'
import type { Messages } from '../messages/en.ts'
import { waitIn } from '../pages/language.ts'
import { secretField } from '../pages/secret_field.ts'
import { actorOf } from '../session.ts'
import { limitedLogin, loginAttempt } from '../sign_in/login_limit.ts'
import {
  type AccountRequest,
  type AccountSection,
  type FormProblem,
  providerHost,
  type Submitted,
  sectionForm,
} from './section.ts'

const ID = 'password'

export const passwordSection = {
  id: ID,
  heading: ({ account }) => account.password.heading,
  render: (account, problem) => (isLocal(account.signedIn.user) ? passwordForm(account, problem) : elsewhere(account)),
  submit: changePassword,
  done: ({ account }) => account.password.done,
} satisfies AccountSection

const isLocal = ({ provider, password_hash }: User): boolean => provider === 'local' && password_hash !== undefined

const elsewhere = ({ signedIn, messages }: AccountRequest): Markup =>
  html`<p class="note">${messages.account.password.elsewhere(providerHost(signedIn.user))}</p>`

function passwordForm(account: AccountRequest, problem: FormProblem | undefined): Markup {
  const t = account.messages.account.password
  const described = problem && html` aria-describedby="${ID}-problem"`
  const field = (
    name: string,
    label: string,
    autocomplete: 'current-password' | 'new-password',
    more: Markup | false,
  ) => secretField(account.messages, { name, label, autocomplete, more: html`${more}${described}` })
  const long = html` minlength="${MIN_PASSWORD}"`
  return html`<p class="soft">${t.lead}</p>
${sectionForm(
  account,
  ID,
  html`<input type="hidden" name="username" autocomplete="username" value="${account.signedIn.user.email}">
${field('current_password', t.current, 'current-password', problem !== undefined && html` autofocus`)}${field('new_password', t.next, 'new-password', long)}${field('new_password_again', t.again, 'new-password', long)}<button class="wide">${t.submit}</button>`,
)}`
}

const refuse = (text: string, status = 422, headers = {}): Submitted => ({ problem: { text, status, headers } })

async function changePassword(account: AccountRequest, form: Params): Promise<Submitted> {
  const { app, request, signedIn, messages } = account
  const t = messages.account.password
  const { user } = signedIn
  const next = form.new_password ?? ''
  if (!isLocal(user)) return {}
  const fault = passwordFault(next, form.new_password_again)
  if (fault) return refuse(fault === 'tooShort' ? t.tooShort(MIN_PASSWORD) : t[fault])
  const user_id = user.id
  return limitedLogin<Submitted>(app, loginAttempt(app, request.remote, user.email), {
    request,
    actor_id: user_id,
    refuse: (wait) => tooMany(messages, wait),
    async prove() {
      if (await isCurrent(account, form.current_password))
        return {
          result: 'success',
          user_id,
          answer: async () => ((await replace(account, next)) ? {} : refuse(t.stale, 409)),
        }
      await audit(app, { action: 'user_password_change_failed', ...actorOf(request, signedIn) })
      return { result: 'failure', user_id, answer: () => refuse(t.wrong) }
    },
  })
}

/** Guesses of the current password count as failed logins, of the address and of the account. */
const tooMany = (messages: Messages, wait: number): Submitted =>
  refuse(messages.login.locked_out(waitIn(messages, wait)), 429, { 'retry-after': String(wait) })

async function isCurrent({ app, signedIn: { user } }: AccountRequest, current = ''): Promise<boolean> {
  if (Buffer.byteLength(current) > MAX_PASSWORD_BYTES) return false
  return (await verifyPassword(app, current, user.password_hash)).right
}

/** Stores the new password. False when the password was changed at the same time. */
async function replace(account: AccountRequest, next: string): Promise<boolean> {
  const { app, request, signedIn } = account
  const { user, session } = signedIn
  const to = await app.crypto.hashPassword(next)
  const change = { user_id: user.id, id: session.id, from: user.password_hash ?? '', to, now: app.clock.now() }
  const detail = { user_id: user.id }
  const event = newAuditEvent(app, { ...actorOf(request, signedIn), action: 'user_password_changed', detail })
  return (await app.store.recorded('changePassword', change, event)) !== undefined
}
