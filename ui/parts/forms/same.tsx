// The same call as curl and as a command, beside a form.
import { useState } from 'preact/hooks'
import { commandLineOf, curlOf } from '../../lib/schema.ts'
import { Code } from '../text.tsx'
import type { Body } from './form_values.ts'

interface SameProps {
  method: string
  path: string
  command?: string
  creates: boolean
  bodyOf: () => Body
}

/** What the form sends, for a shell. */
export function Same({ method, path, command, creates, bodyOf }: SameProps) {
  const [isOpen, setOpen] = useState(false)
  const body = isOpen ? safely(bodyOf) : {}
  return (
    <details class="small" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>The same with curl{command && ' or the command line'}</summary>
      {isOpen && (
        <div class="stack">
          <Code text={curlOf(method, path, body)} what="curl command" />
          {command && creates && <Code text={commandLineOf(command, body)} what="command" />}
          {command && !creates && (
            <p class="soft">
              <code>{command} --help</code> lists the flags for this.
            </p>
          )}
        </div>
      )}
    </details>
  )
}
const safely = (bodyOf: () => Body): Body => {
  try {
    return bodyOf()
  } catch {
    return {}
  }
}
