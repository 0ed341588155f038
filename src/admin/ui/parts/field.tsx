// One field of a form: drawn by the kind of its schema, written as text, read back as JSON.
import type { ComponentChildren } from 'preact'
import { words } from '../lib/format.ts'
import type { Schema } from '../lib/schema.ts'

type Kind = 'text' | 'secret' | 'choice' | 'check' | 'number' | 'lines' | 'json'

function kindOf(name: string, schema: Schema, options: unknown): Kind {
  if (options || schema.enum) return 'choice'
  const { type, items, anyOf } = schema
  if (type === 'boolean') return 'check'
  if (type === 'integer' || type === 'number') return 'number'
  if (type === 'array') return items?.type === undefined || items.type === 'string' || items.enum ? 'lines' : 'json'
  if (anyOf?.some((each) => each.type === 'array')) return 'lines'
  if (type === 'object' || anyOf) return 'json'
  return /password|secret$/.test(name) ? 'secret' : 'text'
}
const isChecked = (schema: Schema) => schema.type === 'boolean'
const isLines = (schema: Schema) => kindOf('', schema, undefined) === 'lines'
const isNullable = ({ anyOf }: Schema) => anyOf?.some(({ type }) => type === 'null') ?? false

/** A stored value as the field shows it. */
export function writeText(schema: Schema, value: unknown): string | boolean {
  if (isChecked(schema)) return value === true
  if (value === undefined || value === null) return ''
  if (isLines(schema)) return (value as string[]).join('\n')
  return typeof value === 'object' ? JSON.stringify(value, null, 2) : String(value)
}

/** What the field shows as the API takes it. Throws for JSON that is none. */
export function readValue(schema: Schema, value: string | boolean): unknown {
  if (typeof value === 'boolean') return value
  const kind = kindOf('', schema, undefined)
  if (kind === 'lines') {
    const lines = value
      .split('\n')
      .map((line) => line.trim())
      .filter(Boolean)
    return lines.length === 0 && isNullable(schema) ? null : lines
  }
  if (kind === 'number') return value === '' ? null : Number(value)
  if (kind !== 'json') return value
  try {
    return JSON.parse(value || 'null')
  } catch (error) {
    throw new Error(`this is not JSON: ${(error as Error).message}`)
  }
}

interface FieldProps {
  id: string
  name: string
  schema: Schema
  isRequired: boolean
  isWrong: boolean
  options?: readonly (readonly [value: string, text: string])[]
  hint: ComponentChildren
  value: string | boolean
  onValue: (value: string | boolean) => void
}

/** One field with its label and help. */
export function Field({ id, name, schema, isRequired, isWrong, options, hint, value, onValue }: FieldProps) {
  const kind = kindOf(name, schema, options)
  const common = { id, name, 'aria-describedby': `${id}-hint`, 'aria-invalid': isWrong }
  const text = String(value)
  const onInput = (event: { currentTarget: { value: string } }) => onValue(event.currentTarget.value)
  const label = (
    <label for={id}>
      {words(name)}
      {!isRequired && kind !== 'check' && <span class="soft small"> optional</span>}
    </label>
  )
  const help = (
    <span class="hint" id={`${id}-hint`}>
      {hint}
      {kind === 'lines' && ' One on each line.'}
      {kind === 'json' && ' JSON.'}
    </span>
  )
  if (kind === 'check')
    return (
      <div class="field check">
        <input
          {...common}
          type="checkbox"
          checked={value === true}
          onInput={(event) => onValue(event.currentTarget.checked)}
        />
        {label}
        {help}
      </div>
    )
  return (
    <div class="field">
      {label}
      {kind === 'choice' ? (
        <select {...common} value={text} onInput={onInput}>
          {(!isRequired || text === '') && <option value="">{isRequired ? 'Choose' : 'as it is by default'}</option>}
          {(options ?? (schema.enum ?? []).map((each) => [each, each] as const)).map(([each, shown]) => (
            <option key={each} value={each}>
              {shown}
            </option>
          ))}
        </select>
      ) : kind === 'lines' || kind === 'json' ? (
        <textarea {...common} rows={kind === 'json' ? 6 : 3} spellcheck={false} value={text} onInput={onInput} />
      ) : (
        <input
          {...common}
          type={(kind === 'secret' ? 'password' : kind === 'number' ? 'number' : 'text') as 'password'}
          autocomplete="off"
          spellcheck={false}
          value={text}
          onInput={onInput}
        />
      )}
      {help}
    </div>
  )
}
