// Settings: who may register clients, and the configuration in force.
import { useState } from 'preact/hooks'
import { call, get } from '../lib/api.ts'
import { useLoad } from '../lib/load.ts'
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
export function SettingsPage() {
  const dcr = useLoad('dcr', () => get<{ mode: DcrMode }>('/admin/settings/dcr'))
  const config = useLoad('config', () => get<Record<string, unknown>>('/admin/system/config'))
  const [wanted, setWanted] = useState<string>()
  const set = async (mode: DcrMode) => {
    await call('PATCH', '/admin/settings/dcr', { mode })
    say(`Registration: ${MODES[mode][0].toLowerCase()}.`)
  }
  const found = flat(config.data ?? {}).filter(([key]) => !wanted || key.includes(wanted))
  return (
    <div class="stack">
      <PageHead title="Settings" about="The registration mode, and the configuration in force. Secrets are masked." />
      <Card title="Who may register clients">
        <ProblemNote error={dcr.error} />
        {(Object.keys(MODES) as DcrMode[]).map((mode) => (
          <div key={mode} class="body choice">
            <div>
              <b>{MODES[mode][0]}</b> <code class="soft">{mode}</code>
              <p class="soft">{MODES[mode][1]}</p>
            </div>
            {dcr.data?.mode === mode ? (
              <Badge tone="good">in force</Badge>
            ) : (
              <ConfirmButton
                label="Use this"
                verb="Use this"
                harmless={mode !== 'open'}
                title={`Let ${MODES[mode][0].toLowerCase()} register clients?`}
                run={() => set(mode)}
                after={dcr.reload}
              >
                {MODES[mode][1]} It applies at once, survives restarts, and takes precedence over dcr.mode of the
                configuration.
              </ConfirmButton>
            )}
          </div>
        ))}
      </Card>
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
        <ProblemNote error={config.error} />
        <Facts
          of={found.map(([key, value]) => [<code key={key}>{key}</code>, <Mono key="value" of={value} or="empty" />])}
        />
      </Card>
      <details>
        <summary>As JSON</summary>
        <JsonText of={config.data} what="configuration" />
      </details>
    </div>
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
