// Admin operations on users: local ones, and users of the upstream provider.
import { z } from 'zod'
import type { App } from '../../context.ts'
import { bool, groupName, slug, text } from '../../lib/field.ts'
import { rfc3339 } from '../../lib/time.ts'
import { newLocalUser } from '../../oauth/sign_in/local_user.ts'
import { groupsOf, nameChange, profileOf, type User } from '../../records/user.ts'
import { retryStale } from '../../store/stale.ts'
import { type ActionResult, type AdminResource, action, type Change, type Recorder } from '../action.ts'
import * as answers from '../answers/answers.ts'
import { userInFull } from '../answers/people.ts'
import { userForm } from '../forms/resource_form.ts'
import { AFTER, cursorOf, order, paging, pieces, q, search } from '../lists.ts'
import { changedFields, changesOf, conflict, notFound } from '../outcome.ts'
import { checkAdminUsers, checkPasswordChange, checkRoleChange, requireCapability } from '../rights.ts'
import { factorReset, factorsOf } from './factors.ts'
import { passwordLink } from './password_link.ts'
import { getUser, givenProvider } from './people.ts'
import { userAccess } from './user_access.ts'
import { userImport } from './user_import.ts'
import { newUser, oidcSubject, userChange } from './user_members.ts'

/** A user in the form of the admin API, without the password hash. */
const userJson = (user: User) => ({
  id: user.id,
  email: user.email ?? '',
  email_verified: user.email_verified,
  name: user.name,
  ...profileOf(user),
  role: user.role,
  status: user.status,
  disabled: user.status === 'disabled',
  provider: user.provider,
  groups: groupsOf(user),
  ...(user.provider === 'oidc' ? providerMembers(user) : {}),
  created_at: rfc3339(user.created_at),
  updated_at: rfc3339(user.updated_at),
})

/** The members that only a user of the upstream provider has. */
const providerMembers = ({ provider_issuer, provider_sub, operator_groups, provider_groups }: User) => ({
  provider_issuer,
  provider_sub,
  operator_groups,
  provider_groups,
})

const emailTaken = () => conflict('a user with this email exists already', 'email_taken')

export const users: AdminResource = {
  name: 'user',
  doc: 'Users.',
  lookup: { email: { doc: 'Email of the user.', query: 'email' } },
  columns: ['email', 'name', 'status', 'id'],
  actions: {
    list: action('GET /admin/users', {
      doc: 'Lists users, oldest first by default.',
      answer: z.array(answers.user),
      query: z
        .strictObject({
          email: text(254).optional().describe('Only the user with this email.'),
          group: groupName().optional().describe('Only users in this group.'),
          provider: slug()
            .optional()
            .describe('Only users who sign in at this provider: default, or a provider of oidc.providers.'),
          ...paging(1_000_000, 1_000_000),
          after: text(256).min(1, 'must not be empty').optional().describe(AFTER),
          q: q.describe('Only users with this text in their email, name or id. Case is ignored.'),
          order,
        })
        .refine(({ email, q }) => email === undefined || q === undefined, {
          path: ['q'],
          message: 'cannot be used together with email',
        }),
      async run({ store, oidc }, { query: { after, q, provider, ...query } }) {
        const issuer = provider && givenProvider(oidc, provider).settings.issuer
        const page = {
          ...query,
          ...(issuer ? { issuer } : {}),
          after: await cursorOf('user', after, (id) => store.findUser({ id })),
        }
        const { order, group } = query
        const found = await (q === undefined
          ? pieces((piece) => store.listUsers({ ...page, ...piece }), placeOf, page)
          : search((window) => store.listUsersWith({ q, order, group, issuer, ...window }), page))
        return { shown: found.map(userJson) }
      },
    }),
    create: action('POST /admin/users', {
      doc: 'Creates a user.',
      answer: answers.user,
      status: 201,
      form: userForm,
      body: newUser,
      audit: 'user_created',
      cli: { flags: { password: { field: 'password', secret: true }, name: { field: 'name', required: true } } },
      async run(app, { body: { password, ...fields } }, by) {
        checkAdminUsers(app, by, { role: fields.role, provider: 'local' })
        // Checked before the expensive hashing. The write checks it again.
        if (await app.store.findUserByEmail({ email: fields.email })) throw emailTaken()
        const password_hash = await app.crypto.hashPassword(password)
        const user = newLocalUser({ ...fields, password_hash }, app.clock.now())
        const change = { detail: { user_id: user.id, role: user.role, groups: fields.groups } }
        if ((await by.record('createUser', user, change)) === 'exists') throw emailTaken()
        return { shown: userJson(user) }
      },
    }),
    import: userImport,
    resetFactors: factorReset,
    passwordLink,
    access: userAccess,
    get: action('GET /admin/users/{id}', {
      doc: 'Shows a user.',
      answer: userInFull,
      cli: { command: 'user show' },
      async run(app, { params }) {
        const user = await getUser(app, params.id)
        return { shown: { ...userJson(user), ...(await factorsOf(app, user)) } }
      },
    }),
    update: action('PATCH /admin/users/{id}', {
      doc: 'Changes the named members of a user. A new password, or a new subject, ends the sessions and refresh tokens of the user. A new subject needs the capability admin, and so does a new password while the user has upstream connections.',
      answer: answers.user,
      form: userForm,
      body: userChange,
      audit: 'user_updated',
      cli: { without: ['password', 'oidc_subject', 'provider_sub'] },
      run: (app, { params, body }, by) => changeUser(app, params.id, body, by),
    }),
    disable: action('PATCH /admin/users/{id}/disable', {
      doc: 'Disables a user. Sessions and refresh tokens end, and sign-in is refused.',
      answer: answers.userStatus,
      tool: { name: 'disable_user', title: 'Disable a user', destructive: 'get', counts: ['user_id', 'id'] },
      audit: 'user_disabled',
      run: (app, { params }, by) => changeStatus(app, params.id, 'disabled', by),
    }),
    enable: action('PATCH /admin/users/{id}/enable', {
      doc: 'Enables a disabled user again.',
      answer: answers.userStatus,
      tool: { name: 'enable_user', title: 'Enable a user' },
      audit: 'user_enabled',
      run: (app, { params }, by) => changeStatus(app, params.id, 'active', by),
    }),
    forceLogout: action('DELETE /admin/users/{id}/tokens', {
      doc: 'Ends every session and refresh token of a user. Returns the number of ended sign-ins.',
      answer: answers.signedOut,
      tool: {
        name: 'revoke_sign_ins',
        title: 'End all sign-ins of a user',
        destructive: 'get',
        counts: ['user_id', 'id'],
      },
      audit: 'user_signed_out',
      async run(app, { params: { id } }, by) {
        await getUser(app, id)
        const change = { detail: { user_id: id } }
        const tokens_revoked = await by.record('signOutUser', { id, now: app.clock.now() }, change)
        return { shown: { user_id: id, tokens_revoked } }
      },
    }),
    delete: action('DELETE /admin/users/{id}', {
      doc: 'Deletes a user with its consents, and removes it from the access rules of resources. A user with live refresh tokens is deleted only with force.',
      tool: { name: 'delete_user', title: 'Delete a user', destructive: 'get', counts: ['user_id', 'id'] },
      query: z.strictObject({
        force: bool().prefault(false).describe('Delete it even if it has live refresh tokens.'),
      }),
      audit: 'user_deleted',
      async run(app, { params: { id }, query: { force } }, by) {
        checkAdminUsers(app, by, await getUser(app, id))
        const change = { detail: { user_id: id, force } }
        const outcome = await by.record('deleteUser', { id, force, now: app.clock.now() }, change)
        if (outcome === undefined) throw notFound('user')
        if (outcome === 'has_tokens') throw conflict('the user has live refresh tokens; force ends them', 'has_tokens')
      },
    }),
  },
  commands: {
    setPassword: action('PATCH /admin/users/{id}', {
      doc: 'Sets the password of a user. It ends the sessions and refresh tokens of the user. Needs the capability admin while the user has upstream connections.',
      answer: answers.user,
      body: z.object({ password: userChange.shape.password.unwrap() }),
      audit: 'user_updated',
      cli: { flags: { password: { field: 'password', secret: true } } },
      run: (app, { params, body }, by) => changeUser(app, params.id, body, by),
    }),
    relink: action('PATCH /admin/users/{id}', {
      doc: 'Links a user to a new subject, after the account at the upstream provider was created again. The sessions and refresh tokens of the user end; the consents stay.',
      answer: answers.user,
      body: z.object({ oidc_subject: oidcSubject }),
      needs: 'admin',
      audit: 'user_updated',
      run: (app, { params, body }, by) => changeUser(app, params.id, body, by),
    }),
  },
}

const placeOf = ({ created_at, id }: User) => ({ at: created_at, id })

async function changeUser(
  app: App,
  id: string,
  { password, groups, oidc_subject, provider_sub = oidc_subject, ...rest }: z.output<typeof userChange>,
  by: Recorder,
): Promise<ActionResult> {
  const { provider } = await getUser(app, id)
  if (password !== undefined && provider !== 'local')
    throw conflict('the user signs in at the upstream provider and has no password here', 'user_not_local')
  if (provider_sub !== undefined && provider !== 'oidc')
    throw conflict('the user signs in with a password and has no subject at an upstream provider', 'user_local')
  if (password !== undefined) await checkPasswordChange(app, by, id)
  const password_hash = password === undefined ? undefined : await app.crypto.hashPassword(password)
  const patch = { ...rest, ...(groups ? { operator_groups: groups } : {}), ...(provider_sub ? { provider_sub } : {}) }
  // Only this is repeated, so that the password is hashed once.
  return retryStale(async () => {
    const user = await getUser(app, id)
    const fields = [...changedFields(user, patch), ...(password_hash ? ['password'] : [])]
    if (fields.length === 0) return { shown: userJson(user) }
    checkAdminUsers(app, by, user, { ...user, ...rest })
    if (fields.includes('role')) await checkRoleChange(app, by, user)
    const isRelinked = fields.includes('provider_sub')
    // The person with the new subject becomes this user, with the rights of the subject at the admin page and the connections of the user.
    if (isRelinked) requireCapability(by, 'admin', 'a new subject of a user')
    const next = { ...user, ...patch, ...(password_hash ? { password_hash } : {}) }
    const groupChange = nameChange(user.operator_groups, next.operator_groups)
    const detail = { user_id: id, ...changesOf(user, next, fields), ...groupChange }
    const written = await writeUser(app, next, isRelinked || password_hash !== undefined, by, detail)
    return { shown: userJson(written) }
  })
}

/** Writes a user that was read before, with the event. Throws conflict when the email is taken. */
async function writeUser(
  app: App,
  user: User,
  signOut: boolean,
  by: Recorder,
  detail: Change['detail'],
): Promise<User> {
  const now = app.clock.now()
  const next = { ...user, updated_at: now }
  const outcome = await by.record('updateUser', { user: next, signOut, now }, { detail })
  if (outcome === 'exists') throw emailTaken()
  if (outcome === 'subject_exists')
    throw conflict('another user has this subject at the provider; delete that user first', 'subject_taken')
  return next
}

async function changeStatus(app: App, id: string, status: User['status'], by: Recorder): Promise<ActionResult> {
  const user = await getUser(app, id)
  checkAdminUsers(app, by, user)
  if (user.status === status) throw conflict(`the user is ${status} already`, 'wrong_state')
  await writeUser(app, { ...user, status }, status === 'disabled', by, { user_id: id })
  return { shown: { status } }
}
