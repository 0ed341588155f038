// A field for a text in a form that no operation describes.
import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'

interface TextFieldProps {
  label: ComponentChildren
  hint?: ComponentChildren
  /** The lines of a text of several lines. */
  rows?: number
  value: string
  onText: (text: string) => void
  required?: boolean
  autofocus?: boolean
  placeholder?: string
}

/** The field with its label and its hint. */
export function TextField({ label, hint, rows, onText, ...input }: TextFieldProps) {
  const id = useId()
  const control = {
    ...({ ...input, id, autocomplete: 'off', spellcheck: false } as const),
    'aria-describedby': hint ? `${id}-hint` : undefined,
    onInput: (event: { currentTarget: { value: string } }) => onText(event.currentTarget.value),
  }
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {rows === undefined ? <input {...control} /> : <textarea {...control} rows={rows} />}
      {hint && (
        <span class="hint" id={`${id}-hint`}>
          {hint}
        </span>
      )}
    </div>
  )
}
