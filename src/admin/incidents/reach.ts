// What an incident reaches, and the steps that end it.
import { longestLife } from '../../config/lifetimes.ts'
import type { App } from '../../context.ts'
import { isId } from '../../lib/id.ts'
import { formatDuration } from '../../lib/time.ts'
import { isUserId } from '../../oauth/clients/client_metadata.ts'
import { liveSecrets } from '../../oauth/clients/client_secret.ts'
import { listAllResources } from '../../oauth/tokens/resource.ts'
import type { Client } from '../../records/client.ts'
import type { SUBJECTS } from '../answers/incidents.ts'
import { apiKeys } from '../api_keys.ts'
import { getClient } from '../clients/client_record.ts'
import { clients } from '../clients/clients.ts'
import { issuances } from '../issuances.ts'
import { existing, notFound } from '../outcome.ts'
import { consentGrants } from '../people/grants.ts'
import { getUser } from '../people/people.ts'
import { users } from '../people/users.ts'
import { clientSteps, keyStep, revokeStep, type Step, signInStep, signOutStep, stepOf, stepsThat } from './steps.ts'

export interface Reach {
  /** The ids that it reaches, by the members of audit details. */
  about: Record<string, string>
  steps: Step[]
  /** What no step ends. */
  remains: string[]
}

/** Ended tokens that resource servers may still accept. */
const ofSignatures = ({ config }: App): string =>
  `A resource server that only checks signatures accepts an ended token until it expires: at most ${formatDuration(longestLife(config))}.`

const secretsRemain = (client: Client, now: number): string[] =>
  liveSecrets(client, now).length === 0
    ? []
    : [
        `The client has a secret. If it leaked too, rotate it: service admin client rotate-secret --id ${client.client_id}`,
      ]

async function ofToken(app: App, id: string): Promise<Reach> {
  const state = await existing('token', isId(id) ? app.store.findTokenState({ id }) : undefined)
  const { sub, client_id, kid, family_id, broker_provider, expires_at } = state.issuance
  const now = app.clock.now()
  const isLive = state.live && expires_at > now
  const client = await app.store.findClient({ client_id })
  const user_id = isUserId(sub) ? sub : undefined
  const isKept = app.keyring.published().some((each) => each.kid === kid)
  const steps = stepsThat(
    broker_provider === undefined &&
      stepOf(issuances, 'revoke', {
        params: { id },
        step: 'token',
        effect: 'The token ends, and every token that was exchanged from it.',
        suggested: true,
        counts: { tokens: isLive ? 1 : 0 },
      }),
    family_id && signInStep(family_id),
    user_id && signOutStep(user_id),
    ...(client ? clientSteps(client) : []),
    isKept && keyStep(kid, false),
  )
  const remains = [
    ...(broker_provider ? [`The token is one of the provider ${broker_provider}: only the provider can end it.`] : []),
    ...(isLive ? [] : ['The token is not active any more.']),
    ...(client ? secretsRemain(client, now) : []),
    ofSignatures(app),
  ]
  const about: Record<string, string> = { jti: id, client_id, kid }
  if (user_id) about['user_id'] = user_id
  if (family_id) about['family'] = family_id
  return { about, steps, remains }
}

async function ofSignIn(app: App, id: string): Promise<Reach> {
  const family = await existing('sign-in', isId(id) ? app.store.findFamily({ id }) : undefined)
  const { client_id, user_id, revoked_at } = family
  const client = await app.store.findClient({ client_id })
  const steps = stepsThat(
    revoked_at === undefined && signInStep(id),
    signOutStep(user_id),
    ...(client ? clientSteps(client) : []),
  )
  const remains = [
    ...(revoked_at === undefined ? [] : ['The sign-in has ended already.']),
    ...(client ? secretsRemain(client, app.clock.now()) : []),
    ofSignatures(app),
  ]
  return { about: { family: id, client_id, user_id }, steps, remains }
}

async function ofUser(app: App, id: string): Promise<Reach> {
  const user = await getUser(app, id)
  const connections = (await app.store.listBrokerGrants({ user_id: id })).filter(
    (each) => each.revoked_at === undefined,
  )
  const consents = (await app.store.listConsents({ user_id: id })).filter((each) => each.revoked_at === undefined)
  const named = (await listAllResources(app)).filter(({ access }) => access?.users?.includes(id))
  const steps = stepsThat(
    user.status !== 'disabled' &&
      stepOf(users, 'disable', {
        params: { id },
        step: 'disable',
        effect: 'The user cannot sign in. Sessions and refresh tokens end.',
        suggested: true,
      }),
    revokeStep('user_tokens', 'Every token about the user ends, at every client.', true, { user_id: id }),
    connections.length > 0 &&
      stepOf(consentGrants, 'revokeBroker', {
        step: 'connections',
        effect: 'The connections of the user to providers end. Tokens that a provider has issued end only there.',
        suggested: true,
        inputs: connections.map((each) => ({ params: { id: each.id }, query: {} })),
        counts: { sign_ins: connections.length },
      }),
  )
  const remains = [
    ...(user.status === 'disabled' ? ['The user is disabled already.'] : []),
    ...(consents.length > 0
      ? [`${consents.length} consents stay. They give no token while the user is disabled.`]
      : []),
    ...(named.length > 0 ? [`The access rules of ${named.map(({ slug }) => slug).join(', ')} name the user.`] : []),
    ...(user.role === 'admin' ? ['The user has the role admin.'] : []),
    'Keys of the admin API belong to no person: look at their names, and revoke those of this person.',
    ...(user.provider === 'oidc' ? ['Disable the account at the identity provider, too.'] : []),
    ofSignatures(app),
  ]
  return { about: { user_id: id }, steps, remains }
}

async function ofClient(app: App, client_id: string, requests_per_second: number): Promise<Reach> {
  const client = await getClient(app, client_id)
  const limit = stepOf(clients, 'update', {
    step: 'limit',
    effect: `The client may send ${requests_per_second} requests a second. Further ones get 429 and do not count against others.`,
    suggested: true,
    inputs: [{ params: { client_id }, query: {}, body: { limits: { requests_per_second } } }],
  })
  return {
    about: { client_id },
    steps: [limit, ...clientSteps(client)],
    remains: [
      ...(client.status === 'suspended' ? ['The client is suspended already.'] : []),
      ...secretsRemain(client, app.clock.now()),
    ],
  }
}

async function ofKey(app: App, kid: string): Promise<Reach> {
  const key = app.keyring.published().find((each) => each.kid === kid)
  if (!key) throw notFound('key')
  return {
    about: { kid },
    steps: [keyStep(kid, true)],
    remains: [
      ...(key.next
        ? []
        : ['If the key folder, its disk or its backup leaked, the next key leaked too: revoke the next key first.']),
      'Resource servers may cache the JWKS for five minutes. Restart those that must drop the key at once.',
    ],
  }
}

async function ofApiKey(app: App, id: string): Promise<Reach> {
  const key = await existing('API key', isId(id) ? app.store.findApiKey({ id }) : undefined)
  const revokeKey = stepOf(apiKeys, 'revoke', {
    params: { id },
    step: 'api_key',
    effect: 'The key is refused from the next request on, at every instance. Its sessions of the admin page end.',
    suggested: true,
  })
  return {
    about: { api_key_id: id },
    steps: [revokeKey],
    remains: [
      `What was done with the key stays done: look at it with service admin audit list --actor-id admin:${key.name}`,
    ],
  }
}

/** What an incident reaches. Throws not_found. */
export function reachOf(
  app: App,
  { subject, id, requests_per_second }: { subject: (typeof SUBJECTS)[number]; id: string; requests_per_second: number },
): Promise<Reach> {
  if (subject === 'client') return ofClient(app, id, requests_per_second)
  return { token: ofToken, sign_in: ofSignIn, user: ofUser, key: ofKey, api_key: ofApiKey }[subject](app, id)
}
