// The rules about the subject of a trusted identity provider: a policy, the user, and the access of the user.
import type { App } from '../../context.ts'
import { accessRules } from '../tokens/common_rules.ts'
import type { GrantFacts, GrantRule } from '../tokens/rule.ts'
import type { FederatedSubject } from './idp_token.ts'
import { applyPolicies, checkLocal, policiesAllow, resolveSubject } from './xaa_policy.ts'

export interface Admitted extends GrantFacts {
  /** The subject of a verified token. Undefined when explain supposes a local user, whom any identity provider may assert. */
  federated?: FederatedSubject
}

/** The identity providers that may assert the subject. */
export const assertedBy = async (app: App, { federated }: Admitted) =>
  federated ? [federated.idp] : (await app.store.listIdps()).filter(({ enabled }) => enabled)

export const POLICY: GrantRule<Admitted> = {
  name: 'policy',
  async check(app, facts) {
    const { federated, client, resource, names } = facts
    facts.names = federated
      ? await applyPolicies(app, federated, client, resource, names)
      : await policiesAllow(app, await assertedBy(app, facts), client, resource, names)
  },
}

/** The rules about the user after a policy has allowed the request. */
export const ADMISSION: readonly GrantRule<Admitted>[] = [
  {
    name: 'user_active',
    async check(app, facts) {
      const { federated } = facts
      if (federated) Object.assign(facts, await resolveSubject(app, federated))
      else facts.user_version = (await checkLocal(app, facts.sub))?.version
    },
  },
  ...accessRules('access_denied'),
]
