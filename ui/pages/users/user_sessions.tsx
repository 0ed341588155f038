// The sign-ins of one user, and how to end one.
import { call, get, segment } from '../../lib/api.ts'
import { useLoad } from '../../lib/load.ts'
import type { SessionAnswer } from '../../lib/types.ts'
import { ConfirmButton } from '../../parts/dialog.tsx'
import { acts, Table } from '../../parts/list.tsx'
import { Card, ProblemNote, Time } from '../../parts/text.tsx'

const deviceOf = ({ browser, system }: SessionAnswer) =>
  [browser, system].filter(Boolean).join(' on ') || 'Unknown browser'

/** The browsers in which a user is signed in. */
export function UserSessions({ path }: { path: string }) {
  const place = `${path}/sessions`
  const { data = [], error, reload } = useLoad(place, () => get<SessionAnswer[]>(place))
  return (
    <Card title="Sign-ins">
      <ProblemNote error={error} />
      {data.length === 0 && !error && <p class="body soft">The user is not signed in anywhere.</p>}
      {data.length > 0 && (
        <Table
          label="Sign-ins"
          rows={data}
          keyOf={({ id }) => id}
          columns={[
            { title: 'Device', cell: (row) => <span title={row.user_agent}>{deviceOf(row)}</span> },
            { title: 'Address', cell: ({ address }) => <code>{address}</code> },
            { title: 'With', cell: ({ provider_issuer }) => provider_issuer ?? 'a password' },
            { title: 'Since', kind: 'tight', cell: ({ created_at }) => <Time at={created_at} /> },
            { title: 'Last used', kind: 'tight', cell: ({ last_used_at }) => <Time at={last_used_at} /> },
            acts<SessionAnswer>((row) => (
              <ConfirmButton
                operation="user.session.end"
                label="End"
                verb="End it"
                title={`End the sign-in with ${deviceOf(row)}?`}
                run={() => call('DELETE', `${place}/${segment(row.id)}`)}
                after={reload}
              >
                The user must sign in again in this browser. Applications keep their access.
              </ConfirmButton>
            )),
          ]}
        />
      )}
    </Card>
  )
}
