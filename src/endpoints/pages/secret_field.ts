// A field for a password, with a button that shows it. The page works without the script, which then leaves the button hidden.
import { html, type Markup } from '../../lib/html.ts'
import type { Messages } from '../messages/en.ts'

interface SecretField {
  name: string
  label: string
  autocomplete: 'current-password' | 'new-password'
  /** Further attributes of the input. */
  more?: Markup
  /** False when it may be left empty. */
  required?: boolean
}

/** The label, the input and the button. The page needs the option `scripts`. */
export const secretField = (
  { reveal: t }: Messages,
  { name, label, autocomplete, more, required = true }: SecretField,
): Markup =>
  html`<div class="secret">
<label for="${name}">${label}</label>
<input type="password" id="${name}" name="${name}" autocomplete="${autocomplete}" ${required && html` required`}${more}>
<button type="button" class="reveal" aria-controls="${name}" data-other="${t.hide}" hidden>${t.show}</button>
</div>
`
