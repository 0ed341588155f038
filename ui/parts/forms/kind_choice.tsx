// The question that a form asks first: what kind of item is it?
import { useId, useState } from 'preact/hooks'
import type { FormKind, FormRules } from '../../../src/admin/forms/form.ts'
import type { Body } from './form_values.ts'
import { TextField } from './text_field.tsx'

interface Props {
  rules: FormRules
  /** The chosen kind, if it was restored. */
  kind?: string
  /** Called with the chosen kind, and with its values. */
  onKind: (key: string, start: Body) => void
}

/** The kinds as a list, then what the chosen kind needs to know before its fields. */
export function KindChoice({ rules: { question, kinds = {} }, kind: restored, onKind }: Props) {
  const id = useId()
  // In the form that `onKind` receives: the name, and the answer to what the kind asks.
  const [name, ...words] = restored?.split(' ') ?? []
  const [chosen, setChosen] = useState(name)
  const [answer, setAnswer] = useState(words.join(' '))
  const choose = (name: string, kind: FormKind, text: string) => {
    setChosen(name)
    setAnswer(text)
    onKind(`${name} ${text}`, filled(kind.start, kind, text))
  }
  const kind = chosen === undefined ? undefined : kinds[chosen]
  const link = kind?.link && filled(kind.link, kind, answer)
  return (
    <>
      <fieldset class="field">
        <legend>{question}</legend>
        <div class="kinds">
          {Object.entries(kinds).map(([name, each]) => (
            <label key={name}>
              <input type="radio" name={id} checked={name === chosen} onChange={() => choose(name, each, '')} />
              <span>
                {each.title}
                {each.about && <small>{each.about}</small>}
              </span>
            </label>
          ))}
        </div>
      </fieldset>
      {kind?.asks && (
        <TextField
          label={kind.asks.label}
          required
          placeholder={kind.asks.example}
          value={answer}
          onText={(text) => choose(chosen as string, kind, text.trim().replace(/\/+$/, ''))}
        />
      )}
      {link && !link.includes('{') && (
        <p class="hint">
          Register this service there first:{' '}
          <a href={link} target="_blank" rel="noreferrer">
            {new URL(link).host}
          </a>
        </p>
      )}
    </>
  )
}

/** A value whose placeholder is replaced by the answer. Without an answer the placeholder stays. */
function filled<V>(value: V, { asks }: FormKind, answer: string): V {
  if (!asks || answer === '') return value
  const text = JSON.stringify(answer).slice(1, -1)
  return JSON.parse(JSON.stringify(value).replaceAll(`{${asks.name}}`, text))
}
