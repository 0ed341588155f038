// Signing keys: which one signs, which ones still verify, and how to change them.
import { call, segment } from '../lib/api.ts'
import { quantity } from '../lib/format.ts'
import { useLoad } from '../lib/load.ts'
import type { Keys as KeysAnswer, RevokedKey } from '../lib/types.ts'
import { ConfirmButton } from '../parts/dialog.tsx'
import { Entries } from '../parts/entity.tsx'
import { acts, type Column } from '../parts/list.tsx'
import { Badge, Copy, Time } from '../parts/text.tsx'
import { say } from '../parts/toast.tsx'

type Key = KeysAnswer['keys'][number]
const TONES = { current: 'good', previous: '', next: 'accent' } as const

/** The signing keys. */
export const KeysPage = () => (
  <Entries<Key>
    title="Keys"
    label="Signing keys"
    about="One key signs; earlier ones stay published until the last token they signed has expired."
    more={
      <ConfirmButton operation="key.rotate" label="Rotate" harmless title="Rotate the signing key?" run={rotate}>
        A new key signs from now on. The previous key stays in the JWKS while its tokens are valid, so nothing stops
        working. Resource servers fetch the new key when they receive a token with its kid.
      </ConfirmButton>
    }
    none="No key yet"
    path="/admin/keys"
    rowsOf={(answer) => (answer as KeysAnswer).keys}
    keyOf={({ kid }) => kid}
    columns={COLUMNS}
  >
    The service makes its first key when it starts.
  </Entries>
)

async function rotate(): Promise<void> {
  const { current_kid } = await call<{ current_kid: string }>('POST', '/admin/keys/rotate')
  say(`${current_kid} signs now.`)
}

const COLUMNS: readonly Column<Key>[] = [
  {
    title: 'Key',
    cell: ({ kid, status }) => (
      <>
        <Copy text={kid} what="kid" /> <Badge tone={TONES[status]}>{status}</Badge>
      </>
    ),
  },
  { title: 'Algorithm', cell: ({ alg }) => alg },
  { title: 'Signs', cell: ({ signs }) => (signs === 'tokens' ? 'access tokens' : 'ID tokens only') },
  { title: 'Since', cell: ({ created_at }) => <Time at={created_at} /> },
  {
    title: 'Safe to remove',
    cell: ({ remove_at, status }) => <Time at={remove_at} or={status === 'current' ? 'in use' : 'not yet'} />,
  },
  acts((key) => <RevokeButton of={key} />),
]

function RevokeButton({ of: { kid, status } }: { of: Key }) {
  const path = `/admin/keys/${segment(kid)}/revoke`
  const revoke = async () => {
    const { tokens } = await call<RevokedKey>('POST', path, { dry_run: false })
    say(`Revoked the key and ${quantity(tokens, 'token')}.`)
  }
  return (
    <ConfirmButton
      operation="key.revoke"
      label="Revoke"
      verb="Revoke the key"
      title="Revoke this key at once?"
      word={kid.slice(0, 8)}
      run={revoke}
    >
      <p>
        <code>{kid}</code> leaves the JWKS now{status === 'current' ? ' and a new key signs' : ''}. Every token that it
        signed is revoked: <Toll path={path} />.
      </p>
      <p>
        Clients with refresh tokens obtain new tokens automatically. Users of other clients must sign in again, and
        machines must request a token again. Resource servers may cache the JWKS for minutes.
      </p>
    </ConfirmButton>
  )
}

/** What the revocation of a key ends, counted before it. */
function Toll({ path }: { path: string }) {
  const { data, error } = useLoad(path, () => call<RevokedKey>('POST', path, { dry_run: true }))
  const counted = data && `${quantity(data.tokens, 'live token')} of ${quantity(data.clients, 'client')}`
  return <b>{counted ?? error?.message ?? 'counting…'}</b>
}
