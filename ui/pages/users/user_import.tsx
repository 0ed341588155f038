// The import of users from a file or from pasted text: a check that changes nothing, then the import. Mistakes are listed by line.
import { useId, useState } from 'preact/hooks'
import {
  checkUsers,
  type ImportCounts,
  MAX_USER_FILE,
  type SendUsers,
  writeUsers,
} from '../../../src/records/user_batches.ts'
import { readUsers } from '../../../src/records/user_file.ts'
import { ApiError, call } from '../../lib/api.ts'
import { quantity } from '../../lib/format.ts'
import { operations } from '../../lib/schema.ts'
import { useWork } from '../../lib/work.ts'
import { useChanged } from '../../parts/changed.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { TextField } from '../../parts/forms/text_field.tsx'
import { OperationButton } from '../../parts/operation_button.tsx'
import { ProblemNote } from '../../parts/text.tsx'

const PATH = '/admin/users/import'
const MAX_SHOWN = 100

interface Outcome {
  /** What was done, or would be. */
  text?: string
  faults: readonly string[]
}

/** The button that opens the import. */
export function ImportButton() {
  const [isOpen, setOpen] = useState(false)
  const close = () => setOpen(false)
  return (
    <>
      <OperationButton operation="user.import" onClick={() => setOpen(true)}>
        Import users
      </OperationButton>
      {isOpen && (
        <Dialog title="Import users" onClose={close}>
          <ImportForm onClose={close} />
        </Dialog>
      )}
    </>
  )
}

function ImportForm({ onClose }: { onClose: () => void }) {
  const changed = useChanged()
  const id = useId()
  const [file, setFile] = useState<File>()
  const [pasted, setPasted] = useState('')
  const [skips, setSkips] = useState(false)
  const [outcome, setOutcome] = useState<Outcome>()
  const { busy, error, ...work } = useWork()
  const run = (dryRun: boolean) =>
    work.run(async () => {
      setOutcome(undefined)
      const text = file ? await readFile(file) : pasted
      setOutcome(await importText(text, skips ? 'skip' : 'refuse', dryRun))
      if (!dryRun) changed()
    })
  return (
    <form
      class="fields"
      onSubmit={(event) => {
        event.preventDefault()
        void run(false)
      }}
    >
      <FileField id={`${id}-file`} onFile={setFile} />
      {!file && <TextField label="Or paste the lines" rows={6} value={pasted} onText={setPasted} />}
      <SkipField id={`${id}-skip`} checked={skips} onChange={setSkips} />
      <ProblemNote error={error} />
      {outcome && <OutcomeNote of={outcome} />}
      <div class="form-foot">
        <button type="submit" class="primary" disabled={busy}>
          Import
        </button>
        <button type="button" disabled={busy} onClick={() => run(true)}>
          Check only
        </button>
        <button type="button" onClick={onClose}>
          Close
        </button>
        <span role="status">{busy && 'Sending the users…'}</span>
      </div>
    </form>
  )
}

const FileField = ({ id, onFile }: { id: string; onFile: (file: File | undefined) => void }) => (
  <div class="field">
    <label for={id}>File</label>
    <input
      id={id}
      type="file"
      accept=".ndjson,.jsonl,.json,.csv,.txt"
      aria-describedby={`${id}-hint`}
      onChange={(event) => onFile(event.currentTarget.files?.[0])}
    />
    <span class="hint" id={`${id}-hint`}>
      One JSON object on each line (NDJSON), or CSV whose first line names the columns: email, name, password_hash,
      groups, role, status, email_verified, given_name, family_name, preferred_username, locale.
    </span>
  </div>
)

const SkipField = ({ id, checked, onChange }: { id: string; checked: boolean; onChange: (skips: boolean) => void }) => (
  <div class="field check">
    <input id={id} type="checkbox" checked={checked} onInput={(event) => onChange(event.currentTarget.checked)} />
    <label for={id}>Skip users whose email exists already</label>
    <span class="hint">Without it such an email is a mistake. The import never changes an existing user.</span>
  </div>
)

const OutcomeNote = ({ of: { text, faults } }: { of: Outcome }) => (
  <>
    {text && <p class={faults.length > 0 ? 'note warn' : 'note good'}>{text}</p>}
    {faults.length > 0 && (
      <div class="note bad">
        <b>{text ? 'The rest was refused' : 'Nothing was imported'}</b>
        <ul aria-label="Mistakes">
          {faults.slice(0, MAX_SHOWN).map((fault) => (
            <li key={fault}>{fault}</li>
          ))}
        </ul>
        {faults.length > MAX_SHOWN && <p>and {faults.length - MAX_SHOWN} more mistakes</p>}
      </div>
    )}
  </>
)

async function readFile(file: File): Promise<string> {
  if (file.size > MAX_USER_FILE) throw new Error(`the file has more than ${MAX_USER_FILE / 1024 / 1024} MiB`)
  return file.text()
}

/** Checks every line before the first user is created. */
async function importText(text: string, existing: string, dryRun: boolean): Promise<Outcome> {
  const { lines, faults } = readUsers(text, await knownMembers())
  const send = senderOf(existing)
  const checked = await checkUsers(lines, send)
  const found = [...faults, ...checked.faults]
  if (found.length > 0) return { faults: found }
  if (lines.length === 0) throw new Error('there is no user in it')
  if (dryRun) return { text: `No mistakes. The import would create ${textOf(checked.counts)}.`, faults: [] }
  const counts = { created: 0, skipped: 0 }
  try {
    const refused = await writeUsers(lines, send, counts)
    return { text: `Created ${textOf(counts)}.`, faults: refused }
  } catch (error) {
    throw new Error(`${(error as Error).message}; before that, the import created ${textOf(counts)}`)
  }
}

const textOf = ({ created, skipped }: ImportCounts) =>
  `${quantity(created, 'user')}${skipped > 0 ? ` and skipped ${skipped}` : ''}`

/** The members of a user, which are the columns of CSV. */
async function knownMembers(): Promise<string[]> {
  const { body } = (await operations()).get('user.import') ?? {}
  return Object.keys(body?.properties?.['users']?.items?.properties ?? {})
}

const senderOf =
  (existing: string): SendUsers =>
  async (users, dry_run) => {
    try {
      return await call<ImportCounts>('POST', dry_run ? `${PATH}?dry_run=true` : PATH, { users, existing })
    } catch (error) {
      if (error instanceof ApiError && error.errors) return { errors: error.errors }
      throw error
    }
  }
