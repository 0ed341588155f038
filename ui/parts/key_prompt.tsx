// The prompt for the admin key.
import { useEffect, useRef, useState } from 'preact/hooks'
import { ApiError } from '../lib/api.ts'
import { Mark } from './icons.tsx'

/** Asks for the key. `why` is the reason why it is requested again. */
export function KeyPrompt({ why, onKey }: { why?: string; onKey: (key: string) => Promise<void> }) {
  const [problem, setProblem] = useState<string>()
  const [busy, setBusy] = useState(false)
  const field = useRef<HTMLInputElement>(null)
  useEffect(() => {
    document.title = 'Admin'
    field.current?.focus()
  }, [])

  const submit = async (event: SubmitEvent) => {
    event.preventDefault()
    const key = field.current?.value.trim() ?? ''
    if (!key) return setProblem('Enter the admin key.')
    setBusy(true)
    try {
      await onKey(key)
    } catch (error) {
      setProblem(inWords(error as Error))
      setBusy(false)
      field.current?.focus()
    }
  }
  return (
    <div class="gate">
      <main>
        <Mark />
        <h1>Admin</h1>
        <p class="soft">Clients, users, tokens and keys of {window.location.host}.</p>
        <form onSubmit={submit}>
          {(problem ?? why) && (
            <p class={problem ? 'note bad' : 'note'} role="alert" id="problem">
              {problem ?? why}
            </p>
          )}
          <div class="field">
            <label for="key">Admin key</label>
            <input
              id="key"
              ref={field}
              type="password"
              autocomplete="off"
              spellcheck={false}
              aria-invalid={problem !== undefined}
              aria-describedby={problem ? 'problem hint' : 'hint'}
            />
            <span class="hint" id="hint">
              <code>admin.api_key</code> or <code>SERVICE_ADMIN_API_KEY</code> of the server. It is stored in this tab
              only, until the tab is closed.
            </span>
          </div>
          <button type="submit" class="primary" disabled={busy}>
            {busy ? 'Checking…' : 'Open'}
          </button>
        </form>
      </main>
    </div>
  )
}

function inWords(error: Error): string {
  if (!(error instanceof ApiError)) return error.message
  if (error.status === 401)
    return 'This is not the admin key. It is compared letter by letter with admin.api_key of the running server.'
  if (error.status === 429) return 'Too many wrong keys from this address. Wait a minute, then try again.'
  if (error.status === 0) return 'The server cannot be reached. Is it running?'
  return error.message
}
