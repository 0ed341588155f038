// Lockouts: the addresses that may not sign in for a while, and the accounts that are attacked.
import { call, segment } from '../../lib/api.ts'
import { number } from '../../lib/format.ts'
import { href } from '../../lib/router.ts'
import type { LockoutAnswer } from '../../lib/types.ts'
import { ConfirmButton } from '../../parts/dialog.tsx'
import { Entries } from '../../parts/entity.tsx'
import { acts, type Column } from '../../parts/list.tsx'
import { Badge, Name, Time } from '../../parts/text.tsx'

const PATH = '/admin/lockouts'

const nameOf = ({ address, email, user_id }: LockoutAnswer) => address ?? email ?? user_id ?? 'this account'

const COLUMNS: readonly Column<LockoutAnswer>[] = [
  {
    title: 'Address or account',
    cell: ({ address, user_id = '', email }) =>
      address === undefined ? (
        <a class="main" href={href(['users', user_id])}>
          <Name of={email} or={user_id} />
        </a>
      ) : (
        <code>{address}</code>
      ),
  },
  {
    title: 'Effect',
    cell: ({ address }) =>
      address === undefined ? <Badge tone="warn">each login waits</Badge> : <Badge tone="bad">locked out</Badge>,
  },
  { title: 'Failed logins', kind: 'number', cell: ({ failures }) => number(failures) },
  { title: 'Locked', kind: 'tight', cell: ({ locked_at }) => <Time at={locked_at} /> },
  { title: 'Ends', kind: 'tight', cell: ({ locked_until }) => <Time at={locked_until} /> },
  acts((row) => (
    <ConfirmButton
      operation="lockout.delete"
      label="End"
      verb="End it"
      harmless
      title={`End the lockout of ${nameOf(row)}?`}
      run={() => call('DELETE', `${PATH}/${segment(row.id)}`)}
    >
      Its failed logins no longer count, at every instance. If the attack continues, the lockout begins again.
    </ConfirmButton>
  )),
]

/** The list of lockouts. */
export const Lockouts = () => (
  <Entries<LockoutAnswer>
    title="Lockouts"
    about="After too many failed logins an address is locked out. When an account has too many, each login to it waits a second; the right password still works."
    none="No lockout now"
    path={PATH}
    keyOf={({ id }) => id}
    columns={COLUMNS}
  >
    Addresses and accounts with too many failed logins appear here.
  </Entries>
)
