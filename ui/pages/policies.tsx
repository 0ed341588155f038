// Policies: what assertions of identity providers may be redeemed for.
import { href } from '../lib/router.ts'
import type { XaaPolicyAnswer } from '../lib/types.ts'
import { actionsColumn, Entries } from '../parts/entity.tsx'
import { Main, Name } from '../parts/text.tsx'
import { Enabled, useIdps } from './idps.tsx'

const listed = (items: readonly string[], none: string) =>
  items.length === 0 ? <span class="soft">{none}</span> : <code>{items.join(' ')}</code>

/** Policies of identity providers. */
export function Policies() {
  const idps = useIdps()
  const fields = ['name', 'client_ids', 'scopes', 'resources', 'enabled']
  return (
    <Entries<XaaPolicyAnswer>
      title="Policies"
      about="What assertions may be redeemed for. The oldest matching policy decides. Without a matching policy, no token is issued."
      create={{
        label: 'Create policy',
        title: 'Create a policy',
        operation: 'policy.create',
        fields: ['idp_id', ...fields],
        options: { idp_id: idps.pairs },
      }}
      none="No policy yet"
      path="/admin/xaa/policies"
      filters={[{ name: 'idp_id', label: 'Any identity provider', options: idps.pairs }]}
      keyOf={({ id }) => id}
      columns={[
        {
          title: 'Policy',
          cell: ({ name, enabled, idp_id }) => (
            <Main name={<Name of={name} />} below={<Name of={idps.nameOf(idp_id)} />}>
              <Enabled is={enabled} />
            </Main>
          ),
        },
        { title: 'Clients', cell: ({ client_ids }) => listed(client_ids, 'all') },
        { title: 'Resources', cell: ({ resources }) => listed(resources, 'all') },
        {
          title: 'Scopes',
          cell: ({ scopes }) => (!scopes ? <span class="soft">no limit</span> : listed(scopes, 'nothing')),
        },
        actionsColumn<XaaPolicyAnswer>({
          edit: { operation: 'policy.update', title: 'Edit the policy', fields },
          remove: 'policy.delete',
          path: '/admin/xaa/policies',
          what: ({ name }) => name || 'the policy',
          effect: 'Requests that only this policy allowed are refused. Issued tokens stay valid until they expire.',
        }),
      ]}
    >
      A policy says which clients may redeem assertions of an identity provider, for which resources and scopes.
      Register an <a href={href(['idps'])}>identity provider</a> first.
    </Entries>
  )
}
