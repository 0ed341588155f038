// Identity providers, and what their assertions may be redeemed for.
import { call, get, segment } from '../lib/api.ts'
import { useLoad } from '../lib/load.ts'
import { href, type Place } from '../lib/router.ts'
import type { Idp, Policy } from '../lib/types.ts'
import { ConfirmButton } from '../parts/dialog.tsx'
import { DeleteButton, EditButton, Entries, useVersion } from '../parts/entity.tsx'
import { FormButton } from '../parts/form.tsx'
import { Badge, Copy, Name } from '../parts/text.tsx'
import { say } from '../parts/toast.tsx'

/** The identity providers as options, and the name of one. */
export function useIdps() {
  const idps = useLoad('idps', () => get<Idp[]>('/admin/idps')).data ?? []
  return {
    pairs: idps.map(({ id, name }) => [id, name] as const),
    nameOf: (id: string) => idps.find((idp) => idp.id === id)?.name ?? id,
  }
}
const Enabled = ({ is }: { is: boolean }) => <Badge tone={is ? 'good' : ''}>{is ? 'enabled' : 'disabled'}</Badge>

/** Identity providers. */
export function Idps(_: { place: Place }) {
  const [version, changed] = useVersion()
  const create = (
    <FormButton
      label="Register provider"
      title="Register an identity provider"
      operation="idp.create"
      fields={['issuer', 'jwks_uri', 'audience', 'name']}
      verb="Register"
      onDone={changed}
    />
  )
  const refresh = async ({ id }: Idp) => {
    await call('POST', `/admin/idps/${segment(id)}/refresh-keys`)
    say('The keys are fetched.')
  }
  return (
    <Entries<Idp>
      title="Identity providers"
      about="Whose assertions (ID-JAG) are accepted: Enterprise-Managed Authorization."
      create={create}
      none="No identity provider yet"
      path="/admin/idps"
      version={version}
      keyOf={({ id }) => id}
      columns={[
        {
          title: 'Provider',
          cell: (idp) => (
            <>
              <b>
                <Name of={idp.name} />
              </b>{' '}
              <Enabled is={idp.enabled} />
              <small>
                <Copy text={idp.issuer} what="issuer" />
              </small>
            </>
          ),
        },
        { title: 'Keys', cell: ({ jwks_uri }) => <code>{jwks_uri}</code> },
        { title: 'Audience', cell: ({ audience }) => <code>{audience}</code> },
        {
          title: 'Actions',
          kind: 'acts',
          cell: (idp) => (
            <div class="actions">
              <a class="button" href={href(['policies'], { idp_id: idp.id })}>
                Policies
              </a>
              <EditButton
                operation="idp.update"
                title="Edit the identity provider"
                params={{ id: idp.id }}
                stored={idp}
                fields={['name', 'jwks_uri', 'audience', 'enabled']}
                onChange={changed}
              />
              <ConfirmButton
                label="Refresh keys"
                verb="Fetch now"
                harmless
                title="Fetch its keys now?"
                run={() => refresh(idp)}
              >
                What is remembered of them is forgotten, and they are fetched from <code>{idp.jwks_uri}</code>.
              </ConfirmButton>
              <DeleteButton what={idp.name} path={`/admin/idps/${segment(idp.id)}`} onGone={changed}>
                Its policies and subject mappings go with it. Assertions of it are refused from now on.
              </DeleteButton>
            </div>
          ),
        },
      ]}
    >
      Register the issuer of your company's identity provider. Then give it a policy: until it has one, its assertions
      are worth nothing.
    </Entries>
  )
}

const listed = (items: readonly string[], none: string) =>
  items.length === 0 ? <span class="soft">{none}</span> : <code>{items.join(' ')}</code>

/** Policies of identity providers. */
export function Policies(_: { place: Place }) {
  const [version, changed] = useVersion()
  const idps = useIdps()
  const fields = ['name', 'client_ids', 'scopes', 'resources', 'enabled']
  const create = (
    <FormButton
      label="Create policy"
      title="Create a policy"
      operation="policy.create"
      fields={['idp_id', ...fields]}
      options={{ idp_id: idps.pairs }}
      verb="Create"
      onDone={changed}
    />
  )
  return (
    <Entries<Policy>
      title="Policies"
      about="What assertions may be redeemed for. The first policy that fits, oldest first, decides; without one nothing is issued."
      create={create}
      none="No policy yet"
      path="/admin/xaa/policies"
      version={version}
      filters={[{ name: 'idp_id', label: 'Any identity provider', options: idps.pairs }]}
      keyOf={({ id }) => id}
      columns={[
        {
          title: 'Policy',
          cell: (policy) => (
            <>
              <b>
                <Name of={policy.name} />
              </b>{' '}
              <Enabled is={policy.enabled} />
              <small>
                <Name of={idps.nameOf(policy.idp_id)} />
              </small>
            </>
          ),
        },
        { title: 'Clients', cell: ({ client_ids }) => listed(client_ids, 'all') },
        { title: 'Resources', cell: ({ resources }) => listed(resources, 'all') },
        {
          title: 'Scopes',
          cell: ({ scopes }) => (!scopes ? <span class="soft">no limit</span> : listed(scopes, 'nothing')),
        },
        {
          title: 'Actions',
          kind: 'acts',
          cell: (policy) => (
            <div class="actions">
              <EditButton
                operation="policy.update"
                title="Edit the policy"
                params={{ id: policy.id }}
                stored={policy}
                fields={fields}
                onChange={changed}
              />
              <DeleteButton
                what={policy.name || 'the policy'}
                path={`/admin/xaa/policies/${segment(policy.id)}`}
                onGone={changed}
              >
                What only this policy allowed is refused from now on. Tokens that were issued stay.
              </DeleteButton>
            </div>
          ),
        },
      ]}
    >
      A policy says which clients may redeem assertions of an identity provider, for which resources and scopes.
      Register an <a href={href(['idps'])}>identity provider</a> first.
    </Entries>
  )
}
