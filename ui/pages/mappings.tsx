// Subject mappings: the local subject of a subject of an identity provider.
import type { Mapping } from '../lib/types.ts'
import { actionsColumn, Entries } from '../parts/entity.tsx'
import { NamedId } from '../parts/named_id.tsx'
import { Copy, Name, Time } from '../parts/text.tsx'
import { useIdps } from './idps.tsx'

/** Subject mappings: the local subject of a subject of an identity provider. */
export function Mappings() {
  const idps = useIdps()
  return (
    <Entries<Mapping>
      title="Subject mappings"
      about="The local subject of a subject of an identity provider. A subject without a mapping becomes issuer:subject, or is refused when xaa.subject_mode is strict."
      create={{
        label: 'Create mapping',
        title: 'Map a subject',
        operation: 'mapping.create',
        fields: ['idp_id', 'federated_subject', 'local_subject'],
        options: { idp_id: idps.pairs },
      }}
      none="No mapping yet"
      path="/admin/xaa/subject-mappings"
      page={50}
      filters={[
        { name: 'q', label: 'Search by subject', search: true },
        { name: 'idp_id', label: 'Any identity provider', options: idps.pairs },
      ]}
      keyOf={({ id }) => id}
      named={({ local_subject }) => [local_subject]}
      columns={[
        {
          title: 'Federated subject',
          cell: ({ federated_subject }) => <Copy text={federated_subject} what="subject" />,
        },
        { title: 'Identity provider', cell: ({ idp_id }) => <Name of={idps.nameOf(idp_id)} /> },
        {
          title: 'Here',
          cell: ({ local_subject }) => <NamedId page="users" id={local_subject} beside={local_subject} />,
        },
        { title: 'Since', kind: 'tight', cell: ({ created_at }) => <Time at={created_at} /> },
        actionsColumn<Mapping>({
          remove: 'mapping.delete',
          path: '/admin/xaa/subject-mappings',
          what: ({ federated_subject }) => `the mapping of ${federated_subject}`,
          effect: 'New tokens for this subject get another sub, or are refused in strict mode.',
        }),
      ]}
    >
      Map a subject where its tokens must carry the id of a local user, such as one with consents here.
    </Entries>
  )
}
