// The values of a form as texts, and which of its fields matter now.
import { createContext } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { FieldRule, FormRules } from '../../../src/admin/forms/form.ts'
import { type Draft, watchForm } from '../../lib/drafts.ts'
import type { JsonSchema } from '../../lib/schema.ts'
import { readValue, writeText } from './values.ts'

export type Body = Record<string, unknown>
type Schemas = Readonly<Record<string, JsonSchema>>
type Values = Record<string, string | boolean>

/** What a field reads of its form: the rules, and the value of another field as text. */
export const FormContext = createContext<{
  rules: FormRules['fields']
  textOf: (name: string) => string
}>({ rules: {}, textOf: () => '' })

interface ValueProps {
  /** The key of the draft of the form. Without it the values are not kept over a new sign-in. */
  draft?: string
  /** What was kept of it. */
  restored?: Draft
  schemas: Schemas
  stored?: object
  start?: Body
  required: readonly string[]
  rules: FormRules['fields']
}

/** The kind of the item, the values of the fields, and the body to send: of a stored item only the changed members, and only fields that matter. */
export function useValues({ draft, restored, schemas, stored, start, required, rules }: ValueProps) {
  const from = (stored ?? start ?? {}) as Body
  const [initial] = useState<Values>(() =>
    Object.fromEntries(
      Object.entries(schemas).map(([name, schema]) => [
        name,
        writeText(schema, from[name] ?? (stored ? undefined : schema.default)),
      ]),
    ),
  )
  const [kind, setKind] = useState(restored?.kind)
  const [values, setValues] = useState<Values>({ ...initial, ...restored?.values })
  const latest = useRef({ kind, values })
  latest.current = { kind, values }
  useEffect(() => {
    if (draft === undefined) return undefined
    const isChanged = ([name, value]: [string, string | boolean]) => value !== initial[name]
    return watchForm(draft, () => ({
      kind: latest.current.kind,
      values: Object.fromEntries(Object.entries(latest.current.values).filter(isChanged)),
    }))
  }, [draft])
  const set = (name: string, value: string | boolean) => setValues((before) => ({ ...before, [name]: value }))
  /** Sets the values of a kind of item. The other fields that kinds set get their initial values. */
  const begin = (kind: string, chosen: Body, settable: readonly string[]) => {
    setKind(kind)
    setValues((before) => ({
      ...before,
      ...Object.fromEntries(
        settable.flatMap((name) => {
          const schema = schemas[name]
          return schema ? [[name, name in chosen ? writeText(schema, chosen[name]) : (initial[name] ?? '')]] : []
        }),
      ),
    }))
  }
  const textOf = (name: string): string => {
    const stands = values[name] ?? (stored as Body | undefined)?.[name] ?? ''
    return Array.isArray(stands) ? stands.join('\n') : String(stands)
  }
  const matters = (name: string): boolean => isWanted(rules[name], textOf)
  const bodyOf = (): Body =>
    Object.fromEntries(
      Object.entries(schemas).flatMap(([name, schema]) => {
        const value = values[name] ?? ''
        const isSame = stored ? value === initial[name] : value === '' && !required.includes(name)
        return isSame || !matters(name) ? [] : [[name, readValue(schema, value)]]
      }),
    )
  return { kind, values, set, begin, textOf, matters, bodyOf }
}

const isWanted = (rule: FieldRule | undefined, textOf: (name: string) => string): boolean => {
  if (!rule?.when) return true
  const [other, ...wanted] = rule.when
  return textOf(other)
    .split('\n')
    .some((each) => wanted.includes(each))
}
