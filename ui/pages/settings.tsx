// Settings: who may register clients, and the configuration in force.
import { useState } from 'preact/hooks'
import { call } from '../lib/api.ts'
import { useGet } from '../lib/load.ts'
import type { DcrMode } from '../lib/types.ts'
import { ConfirmButton } from '../parts/dialog.tsx'
import { Badge, Card, Facts, JsonText, Mono, PageHead, ProblemNote } from '../parts/text.tsx'
import { say } from '../parts/toast.tsx'

const MODES = {
  open: ['Open', 'Any client may register itself, with any redirect URI. For development only.'],
  approved_redirects: [
    'Approved redirects only',
    'A client may register itself when every redirect URI matches a pattern of dcr.approved_redirects.',
  ],
  admin_only: [
    'Operators only',
    'Clients cannot register themselves. Operators create them here or on the command line.',
  ],
} as const satisfies Record<DcrMode, readonly [name: string, about: string]>

/** Registration mode and configuration. */
export const SettingsPage = () => (
  <div class="stack">
    <PageHead title="Settings" about="The registration mode, and the configuration in force. Secrets are masked." />
    <RegistrationCard />
    <ConfigurationCard />
  </div>
)

function RegistrationCard() {
  const { data, error, reload } = useGet<{ mode: DcrMode }>('/admin/settings/dcr')
  return (
    <Card title="Who may register clients">
      <ProblemNote error={error} />
      {(Object.keys(MODES) as DcrMode[]).map((mode) => (
        <div key={mode} class="body choice">
          <div>
            <b>{MODES[mode][0]}</b> <code class="soft">{mode}</code>
            <p class="soft">{MODES[mode][1]}</p>
          </div>
          {data?.mode === mode ? <Badge tone="good">in force</Badge> : <ModeButton mode={mode} onChange={reload} />}
        </div>
      ))}
    </Card>
  )
}

function ModeButton({ mode, onChange }: { mode: DcrMode; onChange: () => void }) {
  const [name, about] = MODES[mode]
  const set = async () => {
    await call('PATCH', '/admin/settings/dcr', { mode })
    say(`Registration: ${name.toLowerCase()}.`)
  }
  return (
    <ConfirmButton
      operation="dcr.set"
      label="Use this"
      harmless={mode !== 'open'}
      title={`Let ${name.toLowerCase()} register clients?`}
      run={set}
      after={onChange}
    >
      {about} It applies at once, survives restarts, and takes precedence over dcr.mode of the configuration.
    </ConfirmButton>
  )
}

function ConfigurationCard() {
  const { data, error } = useGet<Record<string, unknown>>('/admin/system/config', { durations: 'text' })
  const [wanted, setWanted] = useState<string>()
  const found = flat(data ?? {}).filter(([key]) => !wanted || key.includes(wanted))
  return (
    <>
      <Card
        title="Configuration in force"
        aside={
          <input
            type="search"
            aria-label="Find a key"
            placeholder="Find a key"
            class="narrow"
            onInput={(event) => setWanted(event.currentTarget.value.trim())}
          />
        }
      >
        <ProblemNote error={error} />
        <Facts
          of={found.map(([key, value]) => [<code key={key}>{key}</code>, <Mono key="value" of={value} or="empty" />])}
        />
      </Card>
      <details>
        <summary>As JSON</summary>
        <JsonText of={data} what="configuration" />
      </details>
    </>
  )
}

/** `server.issuer` and so on, with values as text. */
function flat(value: Record<string, unknown>, path = ''): [string, string][] {
  return Object.entries(value).flatMap(([name, each]): [string, string][] => {
    const key = path ? `${path}.${name}` : name
    if (Array.isArray(each))
      return [[key, each.map((item) => (typeof item === 'object' ? JSON.stringify(item) : item)).join(', ')]]
    if (typeof each === 'object' && each !== null) return flat(each as Record<string, unknown>, key)
    return [[key, String(each ?? '')]]
  })
}
