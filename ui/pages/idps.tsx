// Identity providers: whose assertions are accepted.
import { call, segment } from '../lib/api.ts'
import { useGet } from '../lib/load.ts'
import { href } from '../lib/router.ts'
import type { IdpAnswer } from '../lib/types.ts'
import { ConfirmButton } from '../parts/dialog.tsx'
import { actionsColumn, Entries } from '../parts/entity.tsx'
import type { Column } from '../parts/list.tsx'
import { Badge, Caution, Copy, Lines, Main, Name } from '../parts/text.tsx'

/** The identity providers as options, and the name of one. */
export function useIdps() {
  const idps = useGet<IdpAnswer[]>('/admin/idps').data ?? []
  return {
    pairs: idps.map(({ id, name }) => [id, name] as const),
    nameOf: (id: string) => idps.find((idp) => idp.id === id)?.name ?? id,
  }
}
/** Whether an identity provider or a policy is enabled. */
export const Enabled = ({ is }: { is: boolean }) => <Badge tone={is ? 'good' : ''}>{is ? 'enabled' : 'disabled'}</Badge>

const COLUMNS: readonly Column<IdpAnswer>[] = [
  {
    title: 'Provider',
    cell: ({ name, enabled, issuer }) => (
      <Main name={<Name of={name} />} below={<Copy text={issuer} what="issuer" />}>
        <Enabled is={enabled} />
      </Main>
    ),
  },
  {
    title: 'Keys',
    cell: ({ jwks_uri, warning }) => (
      <>
        <code>{jwks_uri}</code>
        <Caution of={warning} />
      </>
    ),
  },
  { title: 'Audience', cell: ({ audience }) => <code>{audience}</code> },
  {
    title: 'Subject tokens',
    cell: ({ subject_tokens, audiences }) =>
      subject_tokens ? <Lines of={audiences} /> : <span class="soft">not accepted</span>,
  },
]

const ACTIONS = actionsColumn<IdpAnswer>({
  edit: {
    operation: 'idp.update',
    title: 'Edit the identity provider',
    fields: ['name', 'jwks_uri', 'audience', 'enabled', 'subject_tokens', 'audiences'],
  },
  remove: 'idp.delete',
  path: '/admin/idps',
  what: ({ name }) => name,
  effect: 'Its policies and subject mappings are deleted too, and its assertions are refused.',
  more: (idp) => (
    <>
      <a class="button" href={href(['policies'], { idp_id: idp.id })}>
        Policies
      </a>
      <ConfirmButton
        operation="idp.refreshKeys"
        label="Refresh keys"
        verb="Fetch now"
        harmless
        title="Fetch its keys now?"
        run={() => call('POST', `/admin/idps/${segment(idp.id)}/refresh-keys`)}
        said="The keys are fetched."
      >
        The cached keys are removed, and the keys are fetched from <code>{idp.jwks_uri}</code>.
      </ConfirmButton>
    </>
  ),
})

/** Identity providers. */
export const Idps = () => (
  <Entries<IdpAnswer>
    title="Identity providers"
    about="The issuers whose assertions (ID-JAG) are accepted (Enterprise-Managed Authorization). If subject tokens are enabled, tokens of their users can also be exchanged."
    create={{
      label: 'Register provider',
      title: 'Register an identity provider',
      operation: 'idp.create',
      fields: ['issuer', 'jwks_uri', 'audience', 'name', 'subject_tokens', 'audiences'],
      verb: 'Register',
    }}
    none="No identity provider yet"
    path="/admin/idps"
    keyOf={({ id }) => id}
    columns={[...COLUMNS, ACTIONS]}
  >
    Register the issuer of your company's identity provider. Then create a policy for it: without a policy, its
    assertions are refused.
  </Entries>
)
