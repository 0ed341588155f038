// The second factors of one local user, and how to reset them.
import { call } from '../../lib/api.ts'
import { quantity } from '../../lib/format.ts'
import type { UserInFull } from '../../lib/types.ts'
import { ConfirmButton } from '../../parts/dialog.tsx'
import { Table } from '../../parts/list.tsx'
import { Card, Name, Time } from '../../parts/text.tsx'

const KINDS = { totp: 'Authenticator app', passkey: 'Passkey' } as const

/** The second factors of a user. */
export function UserFactors({ user, path }: { user: UserInFull; path: string }) {
  const { factors, recovery_codes_left } = user
  const reset = factors.length > 0 && (
    <ConfirmButton
      operation="user.resetFactors"
      label="Reset"
      title={`Reset the second factors of ${user.email || 'this user'}?`}
      run={() => call('POST', `${path}/reset-factors`)}
    >
      {`${quantity(factors.length, 'factor')} and ${quantity(recovery_codes_left, 'recovery code')} are removed, and all sign-ins end. The password alone is then enough, until the user adds a factor. Make sure that the person who asks is this user.`}
    </ConfirmButton>
  )
  return (
    <Card title="Second factors" aside={reset}>
      {factors.length === 0 ? (
        <p class="body soft">The user has none, and signs in with the password alone.</p>
      ) : (
        <>
          <Table
            label="Second factors"
            rows={factors}
            keyOf={({ id }) => id}
            columns={[
              { title: 'Kind', cell: ({ kind }) => KINDS[kind] },
              { title: 'Name', cell: ({ name }) => <Name of={name} /> },
              { title: 'Added', kind: 'tight', cell: ({ created_at }) => <Time at={created_at} /> },
              { title: 'Last used', kind: 'tight', cell: ({ last_used_at }) => <Time at={last_used_at} /> },
            ]}
          />
          <p class="body soft">{quantity(recovery_codes_left, 'recovery code')} left.</p>
        </>
      )}
    </Card>
  )
}
