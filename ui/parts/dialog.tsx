// Dialogs: forms and confirmations.
import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { onProgress } from '../lib/api.ts'
import { quantity } from '../lib/format.ts'
import type { JobAnswer } from '../lib/types.ts'
import { useWork } from '../lib/work.ts'
import { useChanged } from './changed.ts'
import { TextField } from './forms/text_field.tsx'
import { OperationButton } from './operation_button.tsx'
import { ProblemNote } from './text.tsx'
import { say } from './toast.tsx'

/** A dialog over the page. Escape closes it, unless it `stays`. */
export function Dialog({
  title,
  stays = () => false,
  onClose,
  children,
}: {
  title: string
  stays?: () => boolean
  onClose: () => void
  children: ComponentChildren
}) {
  const dialog = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => dialog.current?.showModal(), [])
  return (
    <dialog
      ref={dialog}
      aria-labelledby={id}
      onClose={onClose}
      // The system can close a dialog in other ways than with the key.
      onCancel={(event) => stays() && event.preventDefault()}
      // Browsers close a dialog at the second Escape even if `cancel` was prevented, but not if the key was.
      onKeyDown={(event) => event.key === 'Escape' && !event.defaultPrevented && stays() && event.preventDefault()}
    >
      <div>
        <h2 id={id}>{title}</h2>
        {children}
      </div>
    </dialog>
  )
}

interface ConfirmProps {
  title: string
  /** The effect of the operation. */
  children: ComponentChildren
  /** The word on the button: the verb. */
  verb: string
  harmless?: boolean
  /** The user must type this word first. */
  word?: string
  run: () => Promise<unknown>
  onClose: () => void
}

/** Asks for a confirmation before an operation that cannot be undone. */
export function Confirm({ title, children, verb, harmless, word, run, onClose }: ConfirmProps) {
  const work = useWork()
  const [typed, setTyped] = useState('')
  const [job, setJob] = useState<JobAnswer>()
  const act = async (event: SubmitEvent) => {
    event.preventDefault()
    onProgress.tell = setJob
    await work.run(async () => {
      await run()
      onClose()
    })
  }
  return (
    <Dialog title={title} onClose={onClose}>
      <form class="fields" onSubmit={act}>
        <div class="soft">{children}</div>
        {word !== undefined && (
          <TextField
            label={
              <>
                Type <code>{word}</code> to continue
              </>
            }
            value={typed}
            onText={setTyped}
          />
        )}
        {work.busy && job && <JobProgress of={job} />}
        <ProblemNote error={work.error} />
        <div class="form-foot">
          <button
            type="submit"
            class={harmless ? 'primary' : 'primary danger'}
            disabled={work.busy || (word !== undefined && typed !== word)}
          >
            {verb}
          </button>
          {/* Enter must not destroy anything. */}
          <button type="button" autofocus={!harmless} onClick={onClose}>
            Cancel
          </button>
        </div>
      </form>
    </Dialog>
  )
}

/** How far a long operation is. The dialog may be closed meanwhile. */
function JobProgress({ of: { percent, rows } }: { of: JobAnswer }) {
  const id = useId()
  return (
    <p role="status">
      <label for={id}>
        {percent} %, {quantity(rows, 'row')}. It continues when you close this page; Home lists it.
      </label>
      <progress id={id} max={100} value={percent} />
    </p>
  )
}

/** A button that asks for a confirmation before it calls an operation. */
export function ConfirmButton({
  operation,
  label,
  verb = label,
  off,
  said,
  after,
  ...ask
}: Omit<ConfirmProps, 'onClose' | 'verb'> & {
  operation: string
  label: string
  /** Default: the label. */
  verb?: string
  /** Why it cannot be pressed now. */
  off?: string
  /** What the page says when it is done. */
  said?: string
  /** Default: what the button is in is read again. */
  after?: () => void
}) {
  const [isOpen, setOpen] = useState(false)
  const changed = useChanged()
  const run = async () => {
    await ask.run()
    if (said) say(said)
    ;(after ?? changed)()
  }
  return (
    <>
      <OperationButton
        operation={operation}
        class={ask.harmless ? '' : 'danger'}
        disabled={off !== undefined}
        title={off}
        onClick={() => setOpen(true)}
      >
        {label}
      </OperationButton>
      {isOpen && <Confirm {...ask} verb={verb} run={run} onClose={() => setOpen(false)} />}
    </>
  )
}
