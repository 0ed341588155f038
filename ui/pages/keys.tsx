// Signing keys: which one signs, which ones still verify, and how to change them.

import { useState } from 'preact/hooks'
import { call, segment } from '../lib/api.ts'
import { quantity } from '../lib/format.ts'
import { useLoad } from '../lib/load.ts'
import type { Keys as KeysAnswer, RevokedKey } from '../lib/types.ts'
import { Confirm, ConfirmButton } from '../parts/dialog.tsx'
import { useVersion } from '../parts/entity.tsx'
import { type Column, List } from '../parts/list.tsx'
import { OperationButton } from '../parts/operation_button.tsx'
import { Badge, Copy, PageHead, Time } from '../parts/text.tsx'
import { say } from '../parts/toast.tsx'

type Key = KeysAnswer['keys'][number]
const TONES = { current: 'good', previous: '', next: 'accent' } as const

/** The signing keys. */
export function KeysPage() {
  const [version, changed] = useVersion()
  const [compromised, setCompromised] = useState<Key>()
  const rotate = async () => {
    const { current_kid } = await call<{ current_kid: string }>('POST', '/admin/keys/rotate')
    say(`${current_kid} signs now.`)
  }
  return (
    <>
      <PageHead
        title="Keys"
        about="One key signs; earlier ones stay published until the last token they signed has expired."
      >
        <ConfirmButton
          operation="key.rotate"
          label="Rotate"
          verb="Rotate"
          harmless
          title="Rotate the signing key?"
          run={rotate}
          after={changed}
        >
          A new key signs from now on. The previous key stays in the JWKS while its tokens are valid, so nothing stops
          working. Resource servers fetch the new key when they receive a token with its kid.
        </ConfirmButton>
      </PageHead>
      <List<Key>
        label="Signing keys"
        path="/admin/keys"
        version={version}
        rowsOf={(answer) => (answer as KeysAnswer).keys}
        keyOf={({ kid }) => kid}
        empty={null}
        columns={columnsOf(setCompromised)}
      />
      {compromised && <Emergency of={compromised} onClose={() => setCompromised(undefined)} onDone={changed} />}
    </>
  )
}

const columnsOf = (onRevoke: (key: Key) => void): readonly Column<Key>[] => [
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
  {
    title: 'Actions',
    kind: 'acts',
    cell: (key) => (
      <OperationButton operation="key.revoke" class="danger" onClick={() => onRevoke(key)}>
        Revoke
      </OperationButton>
    ),
  },
]

function Emergency({ of: { kid, status }, onClose, onDone }: { of: Key; onClose: () => void; onDone: () => void }) {
  const path = `/admin/keys/${segment(kid)}/revoke`
  const preview = useLoad(path, () => call<RevokedKey>('POST', path, { dry_run: true }))
  const revoke = async () => {
    const { tokens } = await call<RevokedKey>('POST', path, { dry_run: false })
    say(`Revoked the key and ${quantity(tokens, 'token')}.`)
    onDone()
  }
  return (
    <Confirm
      title="Revoke this key at once?"
      verb="Revoke the key"
      word={kid.slice(0, 8)}
      run={revoke}
      onClose={onClose}
    >
      <p>
        <code>{kid}</code> leaves the JWKS now{status === 'current' ? ' and a new key signs' : ''}. Every token that it
        signed is revoked:{' '}
        <b>
          {preview.data
            ? `${quantity(preview.data.tokens, 'live token')} of ${quantity(preview.data.clients, 'client')}`
            : (preview.error?.message ?? 'counting…')}
        </b>
        .
      </p>
      <p>
        Clients with refresh tokens obtain new tokens automatically. Users of other clients must sign in again, and
        machines must request a token again. Resource servers may cache the JWKS for minutes.
      </p>
    </Confirm>
  )
}
