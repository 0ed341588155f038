// Forms from the description of the operations of the admin API: fields, help, defaults and their arrangement are declared once, on the server.
import { useEffect, useId, useRef, useState } from 'preact/hooks'
import type { FormRules } from '../../../src/admin/forms/form.ts'
import { type ApiError, call, segment } from '../../lib/api.ts'
import { type Draft, formKey, takeDraft } from '../../lib/drafts.ts'
import { words } from '../../lib/format.ts'
import { useLoad } from '../../lib/load.ts'
import { type JsonSchema, operations } from '../../lib/schema.ts'
import { useWork } from '../../lib/work.ts'
import { useChanged } from '../changed.ts'
import { Confirm, Dialog } from '../dialog.tsx'
import { OperationButton } from '../operation_button.tsx'
import { ProblemNote, sentence } from '../text.tsx'
import { Field } from './field.tsx'
import { type Body, FormContext, useValues } from './form_values.ts'
import { KindChoice } from './kind_choice.tsx'
import { Same } from './same.tsx'
import type { Pairs } from './values.ts'

interface FormProps<T> {
  /** Such as `client.create`. */
  operation: string
  params?: Record<string, string>
  /** The stored item. Only changed members are sent. */
  stored?: object
  /** The fields to show, in this order. */
  fields: readonly string[]
  /** The choices of fields whose schema does not list them. */
  options?: Record<string, Pairs>
  /** Initial values that differ from the defaults of the schema. */
  start?: Body
  verb: string
  /** Fields whose texts are long. */
  long?: readonly string[]
  /** The form asks no question about the kind of the new item. */
  plain?: boolean
  onDone: (answer: T) => void
  /** The key of its draft, if what was entered is kept over a new sign-in. */
  draft?: string
  /** What was kept of it. */
  restored?: Draft
  /** Called when a value is entered. */
  onInput?: () => void
  /** Without it the form has no Cancel button. */
  onCancel?: () => void
}

/** The form of an operation, with the same call as curl. */
export function OperationForm<T>({ operation, params = {}, fields, plain = false, ...rest }: FormProps<T>) {
  const { data, error } = useLoad('operations', operations)
  const of = data?.get(operation)
  if (error) return <ProblemNote error={error} />
  if (!of?.body) return <p class="soft">Reading the form…</p>
  const schemas = of.body.properties ?? {}
  const path = of.path.replace(/\{(\w+)\}/g, (_, name: string) => segment(params[name] ?? ''))
  return (
    <FieldsForm<T>
      operation={operation}
      method={of.method}
      path={path}
      command={of.command}
      creates={of.creates}
      rules={plain ? { fields: {} } : of.form}
      required={of.body.required ?? []}
      schemas={Object.fromEntries(fields.flatMap((name) => (schemas[name] ? [[name, schemas[name]]] : [])))}
      {...rest}
    />
  )
}

interface FieldsProps<T> extends Omit<FormProps<T>, 'fields' | 'params' | 'plain'> {
  method: string
  path: string
  command?: string
  creates: boolean
  rules: FormRules
  required: readonly string[]
  schemas: Record<string, JsonSchema>
}

/** The problems that a refusal states, by the field that each one names. */
function problemsOf(error: Error | undefined, names: readonly string[]) {
  const found: Record<string, string> = {}
  const rest: string[] = []
  for (const each of error?.message.split('; ') ?? []) {
    const name = names.find((one) => each.startsWith(one) && /^[ .[]/.test(each.slice(one.length)))
    if (name === undefined) rest.push(each)
    else found[name] = [found[name] ?? [], inWords(name, each.slice(name.length))].flat().join(' ')
  }
  return { found, rest }
}
/** `redirect_uris[0] must …` as `Redirect URIs, entry 1, must …`. */
const inWords = (name: string, rest: string): string =>
  sentence(words(name) + rest.replace(/^\./, ': ').replace(/^\[(\d+)\]\.?/, (_, i) => `, entry ${Number(i) + 1}: `))

function FieldsForm<T>(props: FieldsProps<T>) {
  const { operation, method, path, command, creates, rules, required, schemas } = props
  const { options, long, verb, onDone, onInput, onCancel } = props
  const id = useId()
  const form = useRef<HTMLFormElement>(null)
  const { kind, values, set, begin, textOf, matters, bodyOf } = useValues({ ...props, rules: rules.fields })
  const { error, busy, run } = useWork()
  const shown = Object.keys(schemas).filter(matters)
  const { found, rest } = problemsOf(error, shown)
  useEffect(() => {
    if (error) form.current?.querySelector<HTMLElement>(WRONG)?.focus()
  }, [error])

  const submit = async (event: SubmitEvent) => {
    event.preventDefault()
    await run(async () => onDone(await call<T>(method, path, bodyOf())))
  }
  const isLarge = Object.keys(schemas).length > FEW
  const isAdvanced = (name: string) => isLarge && (rules.fields[name]?.advanced ?? false)
  const field = (name: string) => (
    <Field
      key={`${name} ${kind ?? ''}`}
      id={`${id}-${name}`}
      name={name}
      schema={schemas[name] ?? {}}
      isRequired={required.includes(name) || rules.fields[name]?.needed === true}
      problem={found[name]}
      options={options?.[name]}
      isLong={long?.includes(name)}
      value={values[name] ?? ''}
      onValue={(value) => set(name, value)}
    />
  )
  const asks = rules.kinds !== undefined && !props.stored
  const advanced = shown.filter(isAdvanced)
  return (
    <FormContext.Provider value={{ rules: rules.fields, textOf }}>
      <form class="fields" ref={form} onSubmit={submit} onInput={onInput}>
        {props.restored && (
          <p class="note" role="status">
            What you had entered was kept over the sign-in. Passwords and other secrets were not.
          </p>
        )}
        {asks && (
          <KindChoice rules={rules} kind={kind} onKind={(name, chosen) => begin(name, chosen, settableBy(rules))} />
        )}
        {(!asks || kind !== undefined) && (
          <>
            {shown.filter((name) => !isAdvanced(name)).map(field)}
            {advanced.length > 0 && (
              <details class="advanced" open={advanced.some((name) => found[name]) || undefined}>
                <summary>Advanced</summary>
                <div class="members">{advanced.map(field)}</div>
              </details>
            )}
            <Same method={method} path={path} command={command} creates={creates} bodyOf={bodyOf} />
          </>
        )}
        <Refusal error={error} names={Object.keys(found)} rest={rest} />
        <div class="form-foot">
          {(!asks || kind !== undefined) && (
            <OperationButton operation={operation} type="submit" class="primary" disabled={busy}>
              {verb}
            </OperationButton>
          )}
          {onCancel && (
            <button type="button" onClick={onCancel}>
              Cancel
            </button>
          )}
        </div>
      </form>
    </FormContext.Provider>
  )
}
/** Maximum number of fields of a form that shows all of them. */
const FEW = 5
const WRONG = '[aria-invalid="true"], fieldset.wrong input, fieldset.wrong textarea, fieldset.wrong button'

/** The fields that the kinds set. */
const settableBy = ({ kinds = {} }: FormRules): string[] => [
  ...new Set(Object.values(kinds).flatMap(({ start }) => Object.keys(start))),
]

/** A refusal at the foot of a form: which fields are wrong, and what no field is about. */
function Refusal({ error, names, rest }: { error?: Error; names: readonly string[]; rest: readonly string[] }) {
  if (!error || names.length === 0) return <ProblemNote error={error} />
  const { requestId } = error as ApiError
  return (
    <p class="note bad" role="alert">
      {rest.map(sentence).join(' ')} Correct these fields: {names.map(words).join(', ')}.
      {requestId && <span class="small"> (request {requestId})</span>}
    </p>
  )
}

export interface FormButtonProps<T>
  extends Omit<FormProps<T>, 'draft' | 'restored' | 'onInput' | 'onCancel' | 'onDone' | 'verb'> {
  label: string
  title: string
  isMinor?: boolean
  /** Default: Create. */
  verb?: string
  onDone?: (answer: T) => void
}

/** A button that opens the form of an operation in a dialog. When it is done, what the button is in is read again. */
export function FormButton<T>({ label, title, isMinor = false, verb = 'Create', ...form }: FormButtonProps<T>) {
  const draft = formKey(title, form.params)
  const [restored, setRestored] = useState(() => takeDraft(draft))
  const [isOpen, setOpen] = useState(restored !== undefined)
  const [isLeaving, setLeaving] = useState(false)
  const isChanged = useRef(isOpen)
  const changed = useChanged()
  const close = () => {
    isChanged.current = false
    setRestored(undefined)
    setLeaving(false)
    setOpen(false)
  }
  const done = (answer: T) => {
    close()
    form.onDone?.(answer)
    changed()
  }
  /** Entered values are discarded only after a question. */
  const asks = () => {
    if (isChanged.current) setLeaving(true)
    return isChanged.current
  }
  useEffect(() => {
    const stay = (event: BeforeUnloadEvent) => isChanged.current && event.preventDefault()
    window.addEventListener('beforeunload', stay)
    return () => window.removeEventListener('beforeunload', stay)
  }, [])
  return (
    <>
      <OperationButton
        operation={form.operation}
        class={form.stored || isMinor ? '' : 'primary'}
        onClick={() => setOpen(true)}
      >
        {label}
      </OperationButton>
      {isOpen && (
        <Dialog title={title} stays={asks} onClose={close}>
          <OperationForm<T>
            {...form}
            verb={verb}
            draft={draft}
            restored={restored}
            onDone={done}
            onInput={() => {
              isChanged.current = true
            }}
            onCancel={() => asks() || close()}
          />
        </Dialog>
      )}
      {isLeaving && (
        <Confirm
          title="Discard what you entered?"
          verb="Discard"
          run={async () => close()}
          onClose={() => setLeaving(false)}
        >
          Nothing was saved.
        </Confirm>
      )}
    </>
  )
}
