// The policies of an identity provider, for its assertions and its subject tokens, and the local user of their subject.
import type { App } from '../../context.ts'
import { OAuthError } from '../../lib/error.ts'
import type { Reason } from '../../lib/reasons/index.ts'
import type { Client } from '../../records/client.ts'
import type { Idp, XaaPolicy } from '../../records/idp.ts'
import type { Resource } from '../../records/resource.ts'
import type { User } from '../../records/user.ts'
import { isUserId } from '../clients/client_metadata.ts'
import { isSameResource } from '../tokens/resource.ts'
import type { Subject } from '../tokens/subject_access.ts'
import type { FederatedSubject } from './idp_token.ts'

const denied = (description: string, reason: Reason) => new OAuthError('access_denied', description, { reason })

/**
 * The scopes that the first matching policy of the identity provider allows. A resource without scopes needs none, but a policy that
 * limits scopes does not cover it. Throws access_denied when no policy matches, or none of them allows a scope.
 */
export async function applyPolicies(
  app: App,
  { idp }: FederatedSubject,
  client: Client,
  resource: Resource | undefined,
  scope: readonly string[],
): Promise<string[]> {
  const count = (result: string) => app.metrics.count('ext_xaa_policy_evaluation_total', { result })
  try {
    const allowed = await policiesAllow(app, [idp], client, resource, scope)
    count('allowed')
    return allowed
  } catch (error) {
    count('denied')
    throw error
  }
}

/** The scopes that the policies of the first of some identity providers that allows any allow. Throws access_denied. */
export async function policiesAllow(
  app: App,
  idps: readonly Pick<Idp, 'id'>[],
  client: Client,
  resource: Resource | undefined,
  scope: readonly string[],
): Promise<string[]> {
  for (const idp of idps) {
    const allowed = await allowedByPolicies(app, idp, client, resource, scope)
    if (allowed) return allowed
  }
  throw denied('no policy allows this request', 'policy_denied')
}

/** The scopes that the first matching policy of an identity provider allows; undefined when no policy allows the request. */
async function allowedByPolicies(
  app: App,
  { id }: Pick<Idp, 'id'>,
  client: Client,
  resource: Resource | undefined,
  scope: readonly string[],
): Promise<string[] | undefined> {
  const policies = await app.store.listPolicies({ idp_id: id })
  for (const policy of policies.filter((each) => covers(app, each, client, resource))) {
    const allowed = policy.scopes ? scope.filter((name) => policy.scopes?.includes(name)) : [...scope]
    if (allowed.length > 0 || (scope.length === 0 && !policy.scopes)) return allowed
  }
  return undefined
}

/** Whether an enabled policy of the identity provider names a client. A policy for all clients names none. */
export async function isNamed({ store }: App, { id }: Pick<Idp, 'id'>, client_id: string): Promise<boolean> {
  const policies = await store.listPolicies({ idp_id: id })
  return policies.some(({ enabled, client_ids }) => enabled && client_ids.includes(client_id))
}

/** Checks that a policy of the identity provider names a client. Throws access_denied. */
export async function checkNamed(app: App, { idp }: FederatedSubject, client_id: string): Promise<void> {
  if (!(await isNamed(app, idp, client_id))) throw denied('no policy names this client', 'policy_denied')
}

function covers(app: App, policy: XaaPolicy, { client_id }: Client, resource: Resource | undefined): boolean {
  const { enabled, client_ids, resources } = policy
  const { uri } = resource ?? {}
  const namesResource = uri !== undefined && resources.some((each) => isSameResource(app, each, uri))
  const namesClient = client_ids.length === 0 || client_ids.includes(client_id)
  return enabled && namesClient && (resources.length === 0 || namesResource)
}

/**
 * The `sub` of the token: the mapped local subject, otherwise (unless `strict`) the user who signs in at that issuer with that subject, or
 * else a value that no local user or client can have. Throws access_denied without a mapping in `strict` mode, invalid_grant when the user
 * is not active.
 */
export async function resolveSubject(
  app: App,
  federated: FederatedSubject,
): Promise<Pick<Subject, 'sub' | 'user_version'>> {
  try {
    const { result, sub, user_version } = await findSubject(app, federated)
    app.metrics.count('ext_xaa_subject_resolutions_total', { result })
    return { sub, user_version }
  } catch (error) {
    app.metrics.count('ext_xaa_subject_resolutions_total', { result: 'denied' })
    throw error
  }
}

async function findSubject(app: App, { idp, sub }: FederatedSubject) {
  const mapping = await app.store.findSubjectMapping({ idp_id: idp.id, federated_subject: sub })
  if (!mapping && app.config.xaa.subject_mode === 'strict')
    throw denied('the subject is not mapped to a local user', 'subject_not_mapped')
  // The key is issuer and subject, never an email: an administrator of a directory must not gain a local account by choosing an email.
  const local =
    mapping?.local_subject ?? (await app.store.findSubjectUser({ issuer: idp.issuer, sub })) ?? `${idp.issuer}:${sub}`
  const user = await checkLocal(app, local)
  return { result: mapping ? 'mapped' : 'auto_mapped', sub: local, user_version: user?.version }
}

/** A local user must be active. A subject must not be equal to a client id (RFC 9068 §5). Returns the user, if it is one. Throws invalid_grant. */
export async function checkLocal(app: App, local_subject: string): Promise<User | undefined> {
  const user = isUserId(local_subject) ? await app.store.findUser({ id: local_subject }) : undefined
  const mayAct = isUserId(local_subject)
    ? user?.status === 'active'
    : (await app.store.findClient({ client_id: local_subject })) === undefined
  if (!mayAct) throw new OAuthError('invalid_grant', 'the subject is not active', { reason: 'subject_inactive' })
  return user
}
