// The dialog of values that the server shows only once.
import { Dialog } from './dialog.tsx'
import { Copy } from './text.tsx'

/** Shows values with their labels, each with a button that copies it, and a button for what they are needed for next. The note says why they are shown only now. Escape does not close it. */
export const ShownOnce = ({
  title,
  note,
  values,
  next,
  onClose,
}: {
  title: string
  note: string
  values: readonly { label: string; what: string; value: string }[]
  next?: { text: string; open: () => void } | undefined
  onClose: () => void
}) => (
  <Dialog title={title} stays={() => true} onClose={onClose}>
    <p class="note warn">{note}</p>
    {values.map(({ label, what, value }) => (
      <div class="field" key={what}>
        <span class="soft">{label}</span>
        <Copy text={value} what={what} />
      </div>
    ))}
    <div class="form-foot">
      {next && (
        <button type="button" onClick={next.open}>
          {next.text}
        </button>
      )}
      <button type="button" class="primary" onClick={onClose}>
        I have stored it
      </button>
    </div>
  </Dialog>
)
