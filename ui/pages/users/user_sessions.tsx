// The sign-ins of one user, and how to end one.
import { call, segment } from '../../lib/api.ts'
import { useGet } from '../../lib/load.ts'
import type { SessionAnswer } from '../../lib/types.ts'
import { ConfirmButton } from '../../parts/dialog.tsx'
import { acts } from '../../parts/list.tsx'
import { TableCard } from '../../parts/table_card.tsx'
import { Time } from '../../parts/text.tsx'

const deviceOf = ({ browser, system }: SessionAnswer) =>
  [browser, system].filter(Boolean).join(' on ') || 'Unknown browser'

/** The browsers in which a user is signed in. */
export function UserSessions({ path }: { path: string }) {
  const place = `${path}/sessions`
  return (
    <TableCard<SessionAnswer>
      title="Sign-ins"
      of={useGet(place)}
      none="The user is not signed in anywhere."
      keyOf={({ id }) => id}
      columns={[
        { title: 'Device', cell: (row) => <span title={row.user_agent}>{deviceOf(row)}</span> },
        { title: 'Address', cell: ({ address }) => <code>{address}</code> },
        { title: 'With', cell: ({ provider_issuer }) => provider_issuer ?? 'a password' },
        { title: 'Since', kind: 'tight', cell: ({ created_at }) => <Time at={created_at} /> },
        { title: 'Last used', kind: 'tight', cell: ({ last_used_at }) => <Time at={last_used_at} /> },
        acts((row) => (
          <ConfirmButton
            operation="user.session.end"
            label="End"
            verb="End it"
            title={`End the sign-in with ${deviceOf(row)}?`}
            run={() => call('DELETE', `${place}/${segment(row.id)}`)}
          >
            The user must sign in again in this browser. Applications keep their access.
          </ConfirmButton>
        )),
      ]}
    />
  )
}
