// What an assertion may be redeemed for, and who its subject is here.
import type { App } from '../context.ts'
import { OAuthError } from '../lib/error.ts'
import type { Client } from '../records/client.ts'
import type { Resource } from '../records/resource.ts'
import type { XaaPolicy } from '../records/xaa_policy.ts'
import { isUserId } from './client_metadata.ts'
import type { Assertion } from './id_jag.ts'
import { isSameResource } from './resource.ts'

const denied = (description: string, reason: string) => new OAuthError('access_denied', description, { reason })

/**
 * The part of `scope` that the first matching policy of the identity provider leaves. At a resource
 * without scopes none is needed; a policy that limits scopes does not cover it. Throws access_denied when no policy matches, or each leaves nothing.
 */
export async function applyPolicies(
  app: App,
  { idp }: Assertion,
  client: Client,
  resource: Resource | undefined,
  scope: readonly string[],
): Promise<string[]> {
  const policies = await app.store.listPolicies({ idp_id: idp.id })
  for (const policy of policies.filter((each) => covers(app, each, client, resource))) {
    const left = policy.scopes ? scope.filter((name) => policy.scopes?.includes(name)) : [...scope]
    if (left.length === 0 && (scope.length > 0 || policy.scopes)) continue
    app.metrics.count('ext_xaa_policy_evaluation_total', { result: 'allowed' })
    return left
  }
  app.metrics.count('ext_xaa_policy_evaluation_total', { result: 'denied' })
  throw denied('no policy allows this', 'policy_denied')
}

function covers(app: App, policy: XaaPolicy, { client_id }: Client, resource: Resource | undefined): boolean {
  const { enabled, client_ids, resources } = policy
  const { uri } = resource ?? {}
  const namesResource = uri !== undefined && resources.some((each) => isSameResource(app, each, uri))
  const namesClient = client_ids.length === 0 || client_ids.includes(client_id)
  return enabled && namesClient && (resources.length === 0 || namesResource)
}

/**
 * The `sub` of the token: the mapped one, else (unless `strict`) one that no user or client here can have.
 * Throws access_denied without a mapping, invalid_grant when the mapped user may not act.
 */
export async function resolveSubject(app: App, assertion: Assertion): Promise<string> {
  try {
    const { result, sub } = await findSubject(app, assertion)
    app.metrics.count('ext_xaa_subject_resolutions_total', { result })
    return sub
  } catch (error) {
    app.metrics.count('ext_xaa_subject_resolutions_total', { result: 'denied' })
    throw error
  }
}

async function findSubject(app: App, { idp, sub }: Assertion): Promise<{ result: string; sub: string }> {
  const mapping = await app.store.findSubjectMapping({ idp_id: idp.id, federated_subject: sub })
  if (!mapping && app.config.xaa.subject_mode === 'strict')
    throw denied('the subject is not mapped to anybody here', 'subject_not_mapped')
  // Keyed on issuer and subject, never on an email: who controls a directory must not become a local account by a name.
  const local = mapping?.local_subject ?? `${idp.issuer}:${sub}`
  await checkLocal(app, local)
  return { result: mapping ? 'mapped' : 'auto_mapped', sub: local }
}

/** A user must be active, and nobody may be taken for a client (RFC 9068 §5). */
async function checkLocal(app: App, local_subject: string): Promise<void> {
  const mayAct = isUserId(local_subject)
    ? (await app.store.findUser({ id: local_subject }))?.status === 'active'
    : (await app.store.findClient({ client_id: local_subject })) === undefined
  if (!mayAct) throw new OAuthError('invalid_grant', 'the subject may not act here', { reason: 'subject_inactive' })
}
