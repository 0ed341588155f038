// Deleted clients and resources, which can be restored for some days.
import { RESTORABLE_DAYS } from '../../src/records/client.ts'
import { call, segment } from '../lib/api.ts'
import { go, href, type Location } from '../lib/router.ts'
import type { DeletedAnswer } from '../lib/types.ts'
import { dayOf } from '../lib/zone.ts'
import { ConfirmButton } from '../parts/dialog.tsx'
import { Entries } from '../parts/entity.tsx'
import { acts, type Column } from '../parts/list.tsx'
import { Badge, Lines, Name, Time } from '../parts/text.tsx'
import { say } from '../parts/toast.tsx'

async function restore({ kind, name, label }: DeletedAnswer): Promise<void> {
  await call('POST', `/admin/${kind}s/${segment(name)}/restore`)
  say('Restored.')
  go(href(kind === 'client' ? ['clients', name] : ['resources', label]))
}

const COLUMNS: readonly Column<DeletedAnswer>[] = [
  {
    title: 'Deleted',
    cell: ({ kind, name, label }) => (
      <>
        <Name of={label} /> <Badge>{kind}</Badge>
        <small>
          <code>{name}</code>
        </small>
      </>
    ),
  },
  { title: 'When', kind: 'tight', cell: ({ deleted_at }) => <Time at={deleted_at} /> },
  { title: 'By', cell: ({ deleted_by }) => <code>{deleted_by}</code> },
  { title: 'Does not come back', cell: ({ lost }) => <Lines of={lost} or="only consents, sign-ins and tokens" /> },
  { title: 'Can be restored until', kind: 'tight', cell: ({ restorable_until }) => dayOf(restorable_until) },
  acts((row) => (
    <ConfirmButton
      operation={`${row.kind}.restore`}
      label="Restore"
      harmless
      title={`Restore ${row.label || 'this client'}?`}
      run={() => restore(row)}
    >
      {row.kind === 'client'
        ? 'It comes back with its secrets and keys. Its consents, sign-ins, tokens and streams stay ended, and policies do not name it. If it was deleted because a secret leaked, rotate the secret afterwards.'
        : 'It comes back with its scopes and access rules. Its consents, tokens and fronting links stay ended.'}
    </ConfirmButton>
  )),
]

/** The list of what can be restored. */
export function DeletedPage({ place }: { place: Location }) {
  const isOfResources = place.query['kind'] === 'resource'
  return (
    <Entries<DeletedAnswer>
      title="Deleted"
      about={`Clients and resources that can be restored for ${RESTORABLE_DAYS} days. Meanwhile requests find nothing of them, and others may take their names.`}
      from={isOfResources ? ['Resources', href(['resources'])] : ['Clients', href(['clients'])]}
      none="Nothing to restore"
      path="/admin/deleted"
      filters={[
        { name: 'q', label: 'Search by name, slug or id', search: true },
        {
          name: 'kind',
          label: 'Clients and resources',
          options: Object.entries({ client: 'Clients', resource: 'Resources' }),
        },
      ]}
      columns={COLUMNS}
      keyOf={({ kind, name, deleted_at }) => `${kind} ${name} ${deleted_at}`}
    >
      A client or a resource that is deleted appears here for {RESTORABLE_DAYS} days.
    </Entries>
  )
}
