// One field of a form. The schema determines the control; the value is edited as text and read back as JSON.
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { words } from '../lib/format.ts'
import type { JsonSchema } from '../lib/schema.ts'

type Kind = 'text' | 'secret' | 'choice' | 'checks' | 'check' | 'number' | 'lines' | 'members' | 'items' | 'json'

function kindOf(name: string, schema: JsonSchema, options: unknown): Kind {
  const { type, items, anyOf } = schema
  if (options || schema.enum) return type === 'array' ? 'checks' : 'choice'
  if (type === 'boolean') return 'check'
  if (type === 'integer' || type === 'number') return 'number'
  if (type === 'array' && items?.properties) return 'items'
  if (type === 'array') return items?.type === undefined || items.type === 'string' || items.enum ? 'lines' : 'json'
  if (anyOf?.some((each) => each.type === 'array')) return 'lines'
  if (type === 'object' && schema.properties) return 'members'
  if (type === 'object' || anyOf) return 'json'
  return /password|secret$/.test(name) ? 'secret' : 'text'
}
const isChecked = (schema: JsonSchema) => schema.type === 'boolean'
const isLines = (schema: JsonSchema) => kindOf('', schema, undefined) === 'lines'
const isNullable = ({ anyOf }: JsonSchema) => anyOf?.some(({ type }) => type === 'null') ?? false

/** A stored value as the field shows it. */
export function writeText(schema: JsonSchema, value: unknown): string | boolean {
  if (isChecked(schema)) return value === true
  if (value === undefined || value === null) return ''
  if (isLines(schema)) return (value as string[]).join('\n')
  return typeof value === 'object' ? JSON.stringify(value, null, 2) : String(value)
}

/** The value of the field as the API takes it. Throws for malformed JSON. */
export function readValue(schema: JsonSchema, value: string | boolean): unknown {
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
  if (kind !== 'json' && kind !== 'members' && kind !== 'items') return value
  try {
    return JSON.parse(value || 'null')
  } catch (error) {
    throw new Error(`this is not JSON: ${(error as Error).message}`)
  }
}

/** Values to choose from, each with its text. */
export type Pairs = readonly (readonly [value: string, text: string])[]

interface FieldProps {
  id: string
  name: string
  schema: JsonSchema
  isRequired: boolean
  isWrong: boolean
  isLong?: boolean
  options?: Pairs
  value: string | boolean
  onValue: (value: string | boolean) => void
}

/** One field with its label and help. */
export function Field(props: FieldProps) {
  const { id, name, schema, isRequired, isWrong, isLong, value, onValue } = props
  const options = props.options ?? schema.items?.enum?.map((each) => [each, each] as const)
  const kind = kindOf(name, schema, options)
  const help = (
    <span class="hint" id={`${id}-hint`}>
      {schema.description}
      {kind === 'lines' && ' One on each line.'}
      {kind === 'json' && ' JSON.'}
    </span>
  )
  if (kind === 'members' || kind === 'items' || kind === 'checks')
    return <GroupField {...props} kind={kind} options={options} help={help} />
  const common = { id, name, 'aria-describedby': `${id}-hint`, 'aria-invalid': isWrong }
  if (kind === 'check')
    return (
      <div class="field check">
        <input
          {...common}
          type="checkbox"
          checked={value === true}
          onInput={(event) => onValue(event.currentTarget.checked)}
        />
        <label for={id}>{words(name)}</label>
        {help}
      </div>
    )
  const shared = { ...common, value: String(value), onInput: (event: TextEvent) => onValue(event.currentTarget.value) }
  return (
    <div class="field">
      <label for={id}>
        {words(name)}
        {!isRequired && <span class="soft small"> optional</span>}
      </label>
      {kind === 'choice' ? (
        <Choice {...shared} options={options ?? enumOf(schema)} isRequired={isRequired} />
      ) : kind === 'lines' || kind === 'json' || isLong ? (
        <textarea {...shared} rows={isLong ? 8 : kind === 'json' ? 6 : 3} spellcheck={false} />
      ) : (
        <input
          {...shared}
          type={(kind === 'secret' ? 'password' : kind === 'number' ? 'number' : 'text') as 'password'}
          autocomplete="off"
          spellcheck={false}
        />
      )}
      {help}
    </div>
  )
}

interface TextEvent {
  currentTarget: { value: string }
}
interface ControlProps {
  id: string
  name: string
  'aria-describedby': string
  'aria-invalid': boolean
  value: string
  onInput: (event: TextEvent) => void
}

const enumOf = ({ enum: values = [] }: JsonSchema): Pairs => values.map((each) => [each, each] as const)

const Choice = ({ options, isRequired, ...control }: ControlProps & { options: Pairs; isRequired: boolean }) => (
  <select {...control}>
    {(!isRequired || control.value === '') && <option value="">{isRequired ? 'Choose' : 'default'}</option>}
    {options.map(([each, shown]) => (
      <option key={each} value={each}>
        {shown}
      </option>
    ))}
  </select>
)

interface GroupProps extends FieldProps {
  kind: 'members' | 'items' | 'checks'
  help: ComponentChildren
}

/** A field of several controls: the members of an object, the items of a list, or boxes to check. */
function GroupField({ id, name, schema, value, onValue, kind, options = [], help }: GroupProps) {
  const nested = { id, value: String(value), onValue }
  return (
    <fieldset class="field" aria-describedby={`${id}-hint`}>
      <legend>{words(name)}</legend>
      {kind !== 'checks' && help}
      {kind === 'members' && <Members {...nested} schema={schema} isMerged />}
      {kind === 'items' && <Items {...nested} name={name} schema={schema.items ?? {}} />}
      {kind === 'checks' && <Checks options={options} value={nested.value} onValue={onValue} />}
      {kind === 'checks' && help}
    </fieldset>
  )
}

/** One box for each of the options. The value contains the checked ones, one on each line. */
function Checks({ options, value, onValue }: Pick<FieldProps, 'onValue'> & { options: Pairs; value: string }) {
  const chosen = value.split('\n').filter(Boolean)
  const toggle = (each: string) =>
    onValue((chosen.includes(each) ? chosen.filter((one) => one !== each) : [...chosen, each]).join('\n'))
  // A stored value stays, even if it is not among the options.
  const all = [
    ...options,
    ...chosen.filter((each) => !options.some(([value]) => value === each)).map((each) => [each, each] as const),
  ]
  return (
    <div class="checks">
      {all.map(([each, shown]) => (
        <label key={each}>
          <input type="checkbox" checked={chosen.includes(each)} onInput={() => toggle(each)} />
          {shown}
        </label>
      ))}
    </div>
  )
}

type Texts = Record<string, string | boolean>
interface NestedProps extends Pick<FieldProps, 'onValue'> {
  id: string
  schema: JsonSchema
  value: string
}

const textsOf = ({ properties = {} }: JsonSchema, from: Record<string, unknown>): Texts =>
  Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, writeText(schema, from[name])]))

/** The members as JSON values. Empty ones are omitted, except those that are needed. */
const readTexts = ({ properties = {} }: JsonSchema, texts: Texts, needed: readonly string[]): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(properties).flatMap(([name, schema]) => {
      const text = texts[name] ?? ''
      return text === '' && (schema.enum || !needed.includes(name)) ? [] : [[name, readOr(schema, text)]]
    }),
  )
/** Text that is not JSON is sent unchanged, and the server refuses it. */
const readOr = (schema: JsonSchema, text: string | boolean): unknown => {
  try {
    return readValue(schema, text)
  } catch {
    return text
  }
}

/** One field for each member of an object. The server merges some objects; for these a stored member that is now empty is sent as empty. */
function Members({ id, schema, value, onValue, isMerged }: NestedProps & { isMerged?: boolean }) {
  const [stored] = useState<Record<string, unknown>>(() => JSON.parse(value || '{}'))
  const [texts, setTexts] = useState(() => textsOf(schema, stored))
  const change = (next: Texts) => {
    setTexts(next)
    const needed = [...(schema.required ?? []), ...(isMerged ? Object.keys(stored) : [])]
    onValue(JSON.stringify(readTexts(schema, next, needed)))
  }
  return (
    <div class="members">
      {Object.entries(schema.properties ?? {}).map(([name, each]) => (
        <Field
          key={name}
          id={`${id}-${name}`}
          name={name}
          schema={each}
          isRequired={schema.required?.includes(name) ?? false}
          isWrong={false}
          value={texts[name] ?? ''}
          onValue={(text) => change({ ...texts, [name]: text })}
        />
      ))}
    </div>
  )
}

/** The members of each object of a list, with buttons that add and remove one. */
function Items({ id, name, schema, value, onValue }: NestedProps & { name: string }) {
  const [items, setItems] = useState(() =>
    (JSON.parse(value || '[]') as object[]).map((each, key) => ({ key, text: JSON.stringify(each) })),
  )
  const change = (next: typeof items) => {
    setItems(next)
    onValue(`[${next.map(({ text }) => text).join(',')}]`)
  }
  const one = words(name).replace(/s$/, '').toLowerCase()
  const next = (items.at(-1)?.key ?? -1) + 1
  return (
    <>
      {items.map(({ key, text }, i) => (
        <fieldset key={key} class="item">
          <legend class="hidden-label">{`${one} ${i + 1}`}</legend>
          <Members
            id={`${id}-${key}`}
            schema={schema}
            value={text}
            onValue={(changed) =>
              change(items.map((each) => (each.key === key ? { key, text: String(changed) } : each)))
            }
          />
          <button
            type="button"
            aria-label={`Remove ${one} ${i + 1}`}
            onClick={() => change(items.filter((each) => each.key !== key))}
          >
            Remove
          </button>
        </fieldset>
      ))}
      <div>
        <button type="button" onClick={() => change([...items, { key: next, text: '{}' }])}>
          Add {one}
        </button>
      </div>
    </>
  )
}
