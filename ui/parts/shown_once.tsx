// The dialog of values that the server shows only once.
import { Dialog } from './dialog.tsx'
import { Copy } from './text.tsx'

/** Shows values with their labels, each with a button that copies it. The note says why they are shown only now. Escape does not close it. */
export const ShownOnce = ({
  title,
  note,
  values,
  onClose,
}: {
  title: string
  note: string
  values: readonly { label: string; what: string; value: string }[]
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
      <button type="button" class="primary" onClick={onClose}>
        I have stored it
      </button>
    </div>
  </Dialog>
)
