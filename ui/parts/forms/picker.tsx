// A field that searches for items of the server: one, or several of them. Values that are not found can be typed.
import { useEffect, useState } from 'preact/hooks'
import type { PickKind } from '../../../src/admin/forms/form.ts'
import { useLoad } from '../../lib/load.ts'
import { findItems, nameOfItem } from '../../lib/pick.ts'
import type { Pairs } from './values.ts'

const TYPING_MS = 150

interface PickerProps {
  id: string
  name: string
  'aria-describedby': string
  'aria-invalid': boolean
  kind: PickKind
  /** Several items, one on each line of the value. Several scopes can also be separated by spaces. */
  isList: boolean
  value: string
  onValue: (value: string) => void
}

/** The search field, what it found, and the chosen items. */
export function Picker({ kind, isList, value, onValue, ...input }: PickerProps) {
  const separator = isList ? '\n' : kind === 'scope' ? ' ' : undefined
  const [typed, setTyped] = useState('')
  const items = separator === undefined ? [] : value.split(separator).filter(Boolean)
  // What is being typed is the last item of the value already, so that it is not lost when the form is sent.
  const chosen = typed !== '' && items.at(-1) === typed ? items.slice(0, -1) : items
  const [found, setFound] = useState<Pairs>([])
  const [active, setActive] = useState(-1)
  const [isOpen, setOpen] = useState(false)
  const text = separator === undefined ? value : typed
  useEffect(() => {
    if (!isOpen) return
    let isLatest = true
    const search = () =>
      findItems(kind, text, chosen).then(
        (items) => isLatest && setFound(items),
        () => isLatest && setFound([]),
      )
    const timer = setTimeout(() => void search(), TYPING_MS)
    return () => {
      isLatest = false
      clearTimeout(timer)
    }
  }, [isOpen, text, value])

  const close = () => {
    setOpen(false)
    setActive(-1)
  }
  const put = (added: readonly string[]) =>
    onValue([...new Set([...chosen, ...added.map((each) => each.trim()).filter(Boolean)])].join(separator))
  const add = (added: readonly string[]) => {
    if (separator === undefined) onValue(added[0] ?? '')
    else put(added)
    setTyped('')
    close()
  }
  const type = (entered: string) => {
    if (separator === undefined) onValue(entered)
    else {
      const parts = entered.split(separator)
      setTyped(parts.at(-1)?.trim() ?? '')
      put(parts)
    }
    setOpen(true)
    setActive(-1)
  }
  const listens = isOpen && found.length > 0
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined) {
      setOpen(true)
      setActive((active + step + found.length) % Math.max(1, found.length))
    } else if (event.key === 'Escape' && listens) {
      // The dialog stays open.
      event.stopPropagation()
      close()
    } else if (event.key === 'Enter' && listens && found[active]) add([found[active][0]])
    else if (event.key === 'Enter' && typed !== '') add([typed])
    else return
    event.preventDefault()
  }
  return (
    <div class="picker">
      {chosen.length > 0 && (
        <ul class="chosen">
          {chosen.map((each) => (
            <li key={each}>
              <Item kind={kind} id={each} />
              <button
                type="button"
                class="icon"
                aria-label={`Remove ${each}`}
                onClick={() => onValue(chosen.filter((one) => one !== each).join(separator))}
              >
                ×
              </button>
            </li>
          ))}
        </ul>
      )}
      <input
        {...input}
        type="text"
        role="combobox"
        autocomplete="off"
        spellcheck={false}
        placeholder="Search, or type"
        aria-autocomplete="list"
        aria-expanded={listens}
        aria-controls={`${input.id}-found`}
        aria-activedescendant={listens && active >= 0 ? `${input.id}-${active}` : undefined}
        value={text}
        onInput={(event) => type(event.currentTarget.value)}
        onClick={() => setOpen(true)}
        onKeyDown={onKeyDown}
        onPaste={(event) => {
          const lines = (event.clipboardData?.getData('text') ?? '').split(/\s*\n\s*/)
          if (separator === undefined || lines.length < 2) return
          event.preventDefault()
          add(lines)
        }}
        onBlur={close}
      />
      <div id={`${input.id}-found`} class="found" role="listbox" aria-label="Found" hidden={!listens}>
        {found.map(([each, shown], i) => (
          <div
            key={each}
            id={`${input.id}-${i}`}
            role="option"
            tabIndex={-1}
            aria-selected={i === active}
            onMouseDown={(event) => {
              // The field keeps the focus.
              event.preventDefault()
              add([each])
            }}
          >
            {shown && <bdi>{shown}</bdi>} <code>{each}</code>
          </div>
        ))}
      </div>
    </div>
  )
}

/** A chosen item with its name. */
function Item({ kind, id }: { kind: PickKind; id: string }) {
  const { data } = useLoad(`${kind} ${id}`, () => nameOfItem(kind, id))
  return (
    <span>
      {data && <bdi>{data}</bdi>} <code>{id}</code>
    </span>
  )
}
