// One field of a form. The schema determines the control; the value is edited as text and read back as JSON.
import type { ComponentChildren } from 'preact'
import { useContext, useState } from 'preact/hooks'
import type { FieldKind } from '../../../src/admin/forms/form.ts'
import { words } from '../../lib/format.ts'
import type { JsonSchema } from '../../lib/schema.ts'
import { Checks } from './checks.tsx'
import { FormContext } from './form_values.ts'
import { Picker } from './picker.tsx'
import { ScopeMap } from './scope_map.tsx'
import { controlOf, type Pairs, readValue, writeText } from './values.ts'

interface FieldProps {
  id: string
  name: string
  /** The path of the field, for the rules of the form. Default: its name. */
  path?: string
  schema: JsonSchema
  isRequired: boolean
  /** Why the server refused the value. */
  problem?: string
  isLong?: boolean
  options?: Pairs
  value: string | boolean
  onValue: (value: string | boolean) => void
}

const EXTRA: Readonly<Record<string, string>> = {
  lines: ' One on each line.',
  pairs: ' One name=value on each line.',
  json: ' JSON.',
}

/** The schema of an object whose members depend on the field `protocol`. */
function useSchema({ name, path = name, schema }: FieldProps): [schema: JsonSchema, kind: FieldKind | undefined] {
  const { rules, textOf } = useContext(FormContext)
  const kind = rules[path]?.kind
  const protocol = kind === 'by_protocol' ? textOf('protocol') : undefined
  const chosen = schema.anyOf?.find(({ title }) => title === protocol)
  return protocol !== undefined && chosen ? [{ ...chosen, description: schema.description }, kind] : [schema, kind]
}

/** One field with its label and help. */
export function Field(props: FieldProps) {
  const { id, name, path = name, isRequired, problem, isLong, value, onValue } = props
  const [schema, kind] = useSchema(props)
  const options = props.options ?? schema.items?.enum?.map((each) => [each, each] as const)
  const control = controlOf(name, schema, options)
  const help = (
    <>
      <span class="hint" id={`${id}-hint`}>
        {schema.description}
        {!kind && EXTRA[control]}
      </span>
      {problem && (
        <span class="problem" id={`${id}-problem`}>
          {problem}
        </span>
      )}
    </>
  )
  if (kind === 'scope_map')
    return (
      <Group {...props} help={help}>
        <ScopeMap value={String(value)} onValue={onValue} />
      </Group>
    )
  if (control === 'members' || control === 'items' || control === 'checks')
    return (
      <GroupField
        {...props}
        key={schema.title}
        path={path}
        schema={schema}
        kind={control}
        options={options}
        help={help}
      />
    )
  const common = {
    id,
    name,
    'aria-describedby': problem ? `${id}-hint ${id}-problem` : `${id}-hint`,
    'aria-invalid': problem !== undefined,
  }
  if (control === 'check')
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
      {kind && kind !== 'by_protocol' ? (
        <Picker {...common} kind={kind} isList={control === 'lines'} value={String(value)} onValue={onValue} />
      ) : control === 'choice' ? (
        <Choice {...shared} options={options ?? enumOf(schema)} isRequired={isRequired} />
      ) : ['lines', 'pairs', 'json'].includes(control) || isLong ? (
        <textarea {...shared} rows={isLong ? 8 : control === 'json' ? 6 : 3} spellcheck={false} />
      ) : (
        <input
          {...shared}
          type={(control === 'secret' ? 'password' : control === 'number' ? 'number' : 'text') as 'password'}
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

const Group = ({
  id,
  name,
  help,
  problem,
  children,
}: Pick<GroupProps, 'id' | 'name' | 'help' | 'problem'> & { children: ComponentChildren }) => (
  <fieldset class={problem ? 'field wrong' : 'field'} aria-describedby={`${id}-hint`}>
    <legend>{words(name)}</legend>
    {help}
    {children}
  </fieldset>
)

/** A field of several controls: the members of an object, the items of a list, or boxes to check. */
function GroupField({ kind, options = [], ...props }: GroupProps) {
  const { id, name, path = name, schema, value, onValue } = props
  const { rules } = useContext(FormContext)
  const nested = { id, path, value: String(value), onValue }
  return (
    <Group {...props}>
      {kind === 'members' && <Members {...nested} schema={schema} isMerged={rules[path]?.kind !== 'by_protocol'} />}
      {kind === 'items' && <Items {...nested} name={name} schema={schema.items ?? {}} />}
      {kind === 'checks' && <Checks options={options} value={nested.value} onValue={onValue} />}
    </Group>
  )
}

type Texts = Record<string, string | boolean>
interface NestedProps extends Pick<FieldProps, 'onValue'> {
  id: string
  path: string
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
function Members({ id, path, schema, value, onValue, isMerged }: NestedProps & { isMerged?: boolean }) {
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
          path={`${path}.${name}`}
          value={texts[name] ?? ''}
          onValue={(text) => change({ ...texts, [name]: text })}
        />
      ))}
    </div>
  )
}

/** The members of each object of a list, with buttons that add and remove one. */
function Items({ id, path, name, schema, value, onValue }: NestedProps & { name: string }) {
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
            path={path}
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
