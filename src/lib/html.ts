// HTML templates that escape everything that is inserted.

/** HTML that is already safe. */
export class Markup {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}
type Value = string | number | Markup | undefined | false | readonly Value[]

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }
// Invisible characters that reverse or join text could make one name look like another. Only joiners are needed to write words.
const INVISIBLE = /[^\P{Cf}\u200c\u200d]/gu
const render = (value: Value): string => {
  if (value === undefined || value === false) return ''
  if (value instanceof Markup) return value.text
  if (typeof value === 'object') return value.map(render).join('')
  return String(value)
    .replace(INVISIBLE, '')
    .replace(/[&<>"']/g, (char) => ENTITIES[char] as string)
}

/** A template that escapes everything but Markup. */
export const html = (parts: TemplateStringsArray, ...values: Value[]): Markup =>
  new Markup(parts.reduce((all, part, i) => all + render(values[i - 1]) + part))

/** A name that others chose. Its direction of writing does not change the text around it. */
export const isolated = (name: string): Markup => html`<bdi>${name}</bdi>`
