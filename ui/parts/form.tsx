// Forms from the description of the operations of the admin API: fields, help and defaults are declared once, on the server.
import { useId, useState } from 'preact/hooks'
import { call, segment } from '../lib/api.ts'
import { useLoad } from '../lib/load.ts'
import { commandLineOf, curlOf, type JsonSchema, operations } from '../lib/schema.ts'
import { Dialog } from './dialog.tsx'
import { Field, type Pairs, readValue, writeText } from './field.tsx'
import { OperationButton } from './operation_button.tsx'
import { Code, ProblemNote } from './text.tsx'

type Values = Record<string, string | boolean>
type Body = Record<string, unknown>

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
  onDone: (answer: T) => void
  /** Without it the form has no Cancel button. */
  onCancel?: () => void
}

/** The form of an operation, with the same call as curl. */
export function OperationForm<T>({ operation, params = {}, fields, ...rest }: FormProps<T>) {
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
      required={of.body.required ?? []}
      schemas={Object.fromEntries(fields.flatMap((name) => (schemas[name] ? [[name, schemas[name]]] : [])))}
      {...rest}
    />
  )
}

interface FieldsProps<T> extends Omit<FormProps<T>, 'fields' | 'params'> {
  method: string
  path: string
  command?: string
  creates: boolean
  required: readonly string[]
  schemas: Record<string, JsonSchema>
}

type ValueProps = Pick<FieldsProps<unknown>, 'schemas' | 'stored' | 'start' | 'required'>

/** The values of the fields, a function that sets one, and one that returns the body to send: of a stored item only the changed members. */
function useValues({ schemas, stored, start, required }: ValueProps) {
  const from = (stored ?? start ?? {}) as Body
  const [initial] = useState<Values>(() =>
    Object.fromEntries(
      Object.entries(schemas).map(([name, schema]) => [
        name,
        writeText(schema, from[name] ?? (stored ? undefined : schema.default)),
      ]),
    ),
  )
  const [values, setValues] = useState(initial)
  const setValue = (name: string, value: string | boolean) => setValues((before) => ({ ...before, [name]: value }))
  const bodyOf = (): Body =>
    Object.fromEntries(
      Object.entries(schemas).flatMap(([name, schema]) => {
        const value = values[name] ?? ''
        const isSame = stored ? value === initial[name] : value === '' && !required.includes(name)
        return isSame ? [] : [[name, readValue(schema, value)]]
      }),
    )
  return [values, setValue, bodyOf] as const
}

function FieldsForm<T>(props: FieldsProps<T>) {
  const { operation, method, path, command, creates, required, schemas, stored } = props
  const { start, options, long, verb, onDone, onCancel } = props
  const id = useId()
  const [values, setValue, bodyOf] = useValues({ schemas, stored, start, required })
  const [error, setError] = useState<Error>()
  const [busy, setBusy] = useState(false)

  const submit = async (event: SubmitEvent) => {
    event.preventDefault()
    setBusy(true)
    try {
      onDone(await call<T>(method, path, bodyOf()))
    } catch (thrown) {
      setError(thrown as Error)
    }
    setBusy(false)
  }
  return (
    <form class="fields" onSubmit={submit}>
      {Object.entries(schemas).map(([name, schema]) => (
        <Field
          key={name}
          id={`${id}-${name}`}
          name={name}
          schema={schema}
          isRequired={required.includes(name)}
          isWrong={Boolean(error?.message.includes(name))}
          options={options?.[name]}
          isLong={long?.includes(name)}
          value={values[name] ?? ''}
          onValue={(value) => setValue(name, value)}
        />
      ))}
      <ProblemNote error={error} />
      <div class="form-foot">
        <OperationButton operation={operation} type="submit" class="primary" disabled={busy}>
          {verb}
        </OperationButton>
        {onCancel && (
          <button type="button" onClick={onCancel}>
            Cancel
          </button>
        )}
      </div>
      <Same method={method} path={path} command={command} creates={creates} bodyOf={bodyOf} />
    </form>
  )
}

type SameProps = Pick<FieldsProps<unknown>, 'method' | 'path' | 'command' | 'creates'> & { bodyOf: () => Body }

function Same({ method, path, command, creates, bodyOf }: SameProps) {
  const [isOpen, setOpen] = useState(false)
  const body = isOpen ? safely(bodyOf) : {}
  return (
    <details class="small" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>The same with curl{command && ' or the command line'}</summary>
      {isOpen && (
        <div class="stack">
          <Code text={curlOf(method, path, body)} what="curl command" />
          {command && creates && <Code text={commandLineOf(command, body)} what="command" />}
          {command && !creates && (
            <p class="soft">
              <code>{command} --help</code> lists the flags for this.
            </p>
          )}
        </div>
      )}
    </details>
  )
}
const safely = (bodyOf: () => Body): Body => {
  try {
    return bodyOf()
  } catch {
    return {}
  }
}

/** A button that opens the form of an operation in a dialog. */
export function FormButton<T>({
  label,
  title,
  isMinor = false,
  ...form
}: Omit<FormProps<T>, 'onCancel'> & { label: string; title: string; isMinor?: boolean }) {
  const [isOpen, setOpen] = useState(false)
  const done = (answer: T) => {
    setOpen(false)
    form.onDone(answer)
  }
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
        <Dialog title={title} onClose={() => setOpen(false)}>
          <OperationForm<T> {...form} onDone={done} onCancel={() => setOpen(false)} />
        </Dialog>
      )}
    </>
  )
}
