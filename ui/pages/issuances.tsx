// Issuances: every token that was issued.
import { call } from '../lib/api.ts'
import { quantity } from '../lib/format.ts'
import { href, type Location } from '../lib/router.ts'
import type { IssuanceAnswer, RevokedAnswer } from '../lib/types.ts'
import { ConfirmButton } from '../parts/dialog.tsx'
import { Entries } from '../parts/entity.tsx'
import type { Filter } from '../parts/filters.tsx'
import type { Column } from '../parts/list.tsx'
import { NamedId } from '../parts/named_id.tsx'
import { Badge, Mono, Time } from '../parts/text.tsx'
import { say } from '../parts/toast.tsx'
import { RevocationToll } from '../parts/toll.tsx'

const FILTERS: readonly Filter[] = [
  { name: 'user_id', label: 'User id' },
  { name: 'client_id', label: 'client_id' },
  { name: 'resource', label: 'Resource: URI or slug' },
  {
    name: 'since',
    label: 'Last 24 hours',
    options: Object.entries({ '1h': 'Last hour', '7d': 'Last 7 days', '30d': 'Last 30 days' }),
  },
]

/** The state of a token. */
const StateOf = ({ of }: { of: IssuanceAnswer }) =>
  of.revoked_at ? (
    <Badge tone="bad">revoked</Badge>
  ) : Date.parse(of.expires_at) < Date.now() ? (
    <Badge>expired</Badge>
  ) : (
    <Badge tone="good">live</Badge>
  )

const COLUMNS: readonly Column<IssuanceAnswer>[] = [
  {
    title: 'Token',
    cell: (issuance) => (
      <>
        <a class="main mono" href={href(['issuances', issuance.id])}>
          {issuance.id}
        </a>{' '}
        <StateOf of={issuance} />
        <small>
          {issuance.grant_type.replaceAll('_', ' ')}
          {issuance.jkt && ', bound by DPoP'}
        </small>
      </>
    ),
  },
  { title: 'Client', cell: ({ client_id }) => <NamedId page="clients" id={client_id} beside={client_id} /> },
  {
    title: 'Subject',
    cell: ({ sub, client_id, subject_user_id }) =>
      sub === client_id ? (
        <span class="soft">itself</span>
      ) : subject_user_id ? (
        <NamedId page="users" id={subject_user_id} beside={sub} />
      ) : (
        <code>{sub}</code>
      ),
  },
  {
    title: 'For',
    cell: ({ resource, scope }) => (
      <>
        <Mono of={resource} or="no resource" />
        <small>
          <code>{scope}</code>
        </small>
      </>
    ),
  },
  { title: 'Issued', kind: 'tight', cell: ({ issued_at }) => <Time at={issued_at} /> },
]

/** The list of issued tokens. */
export const IssuanceList = ({ place: { query } }: { place: Location }) => (
  <Entries<IssuanceAnswer>
    title="Issuances"
    about="Every issued token, including revoked and expired ones. Rows stay until service purge deletes them."
    more={<RevokeButton fitting={{ client_id: query['client_id'], user_id: query['user_id'] }} />}
    none="No token in the last 24 hours"
    path="/admin/issuances"
    filters={FILTERS}
    columns={COLUMNS}
    named={({ client_id, subject_user_id }) => [client_id, subject_user_id]}
    rowsOf={(answer) => (answer as { issuances: IssuanceAnswer[] }).issuances}
    keyOf={({ id }) => id}
    page={50}
  >
    <a href={href(['issuances'], { since: '30d' })}>Look back 30 days</a>, or <a href={href(['try'])}>mint one</a>.
  </Entries>
)

/** Revokes the tokens that match. It first counts them without a change, and asks for confirmation. */
function RevokeButton({ fitting }: { fitting: Record<string, string | undefined> }) {
  const revoke = async () => {
    const { tokens } = await call<RevokedAnswer>('POST', '/admin/revocations', { ...fitting, dry_run: false })
    say(`Revoked ${quantity(tokens, 'token')}.`)
  }
  return (
    <ConfirmButton
      operation="revocation.create"
      label="Revoke all of these…"
      verb="Revoke them"
      off={Object.values(fitting).some(Boolean) ? undefined : 'Enter a user or a client first'}
      title="Revoke every matching live token?"
      run={revoke}
    >
      <Fitting of={fitting} />
      <p>
        <RevocationToll of={fitting} />, of any age, with every token that was exchanged from them. Suspend the users
        and clients first if they must not obtain new tokens. This cannot be undone.
      </p>
    </ConfirmButton>
  )
}
const Fitting = ({ of }: { of: object }) => (
  <p>
    {Object.entries(of)
      .filter(([, value]) => value)
      .map(([name, value]) => (
        <code key={name}>
          {name}={value}{' '}
        </code>
      ))}
  </p>
)
