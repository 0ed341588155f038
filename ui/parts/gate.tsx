// The sign-in: at a provider, or with an admin key.
import { useEffect, useRef, useState } from 'preact/hooks'
import { ApiError } from '../lib/api.ts'
import { keepPlace, type PageSession } from '../lib/session.ts'
import { Mark } from './icons.tsx'

interface GateProps {
  /** Why the person has to sign in again. */
  why?: string
  providers: PageSession['providers']
  onKey: (key: string) => Promise<void>
}

/** The providers to sign in at, and the field for a key. */
export function Gate({ why, providers, onKey }: GateProps) {
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
        {providers.map(({ name, url }) => (
          <a key={url} class="button primary" href={url} onClick={keepPlace}>
            Sign in with {name}
          </a>
        ))}
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
              <code>admin.api_key</code> of the server, or a key that an operator created. The page exchanges it for a
              session of 12 hours and does not store it.
            </span>
          </div>
          <button type="submit" class={providers.length > 0 ? '' : 'primary'} disabled={busy}>
            {busy ? 'Checking…' : 'Open'}
          </button>
        </form>
      </main>
    </div>
  )
}

function inWords(error: Error): string {
  if (!(error instanceof ApiError)) return error.message
  if (error.status === 401) return 'This is not an admin key of this server, or it was revoked.'
  if (error.status === 429) return 'Too many wrong keys from this address. Wait a minute, then try again.'
  if (error.status === 0) return 'The server cannot be reached. Is it running?'
  return error.message
}
