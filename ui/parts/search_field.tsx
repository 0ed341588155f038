// The field in the head of every page that searches everything. Ctrl-K moves to it.
import { useEffect, useRef } from 'preact/hooks'
import { hold } from '../lib/held.ts'
import { readPasted } from '../lib/pasted.ts'
import { go, href } from '../lib/router.ts'

const PLACE = 'search'

/** Searches everything: what names a record goes into the address, a token or a secret stays in memory. */
export function SearchField() {
  const field = useRef<HTMLInputElement>(null)
  useEffect(() => {
    const focus = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return
      // A dialog is over the page: the field behind it cannot be used.
      if (document.querySelector('dialog[open]')) return
      event.preventDefault()
      field.current?.select()
    }
    document.addEventListener('keydown', focus)
    return () => document.removeEventListener('keydown', focus)
  }, [])
  const submit = (event: SubmitEvent) => {
    event.preventDefault()
    const input = field.current
    if (!input?.value.trim()) return
    const pasted = readPasted(input.value)
    input.value = ''
    if (pasted.kind !== 'text') hold(pasted)
    // A different address each time, so that the page opens again for another token.
    go(href([PLACE], pasted.kind === 'text' ? { q: pasted.text } : { pasted: String(Date.now()) }))
  }
  return (
    <search>
      <form class="everything" onSubmit={submit}>
        <input
          ref={field}
          type="text"
          aria-label="Search everything"
          placeholder="Search: id, email, slug, address, request, token…"
          title="Ctrl-K"
          autocomplete="off"
          spellcheck={false}
          maxLength={16_384}
        />
        <button type="submit">Search</button>
      </form>
    </search>
  )
}
