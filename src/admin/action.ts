// The type of an admin operation. The REST API, the command line and the generated reference read its declaration.
import type { z } from 'zod'
import type { Config } from '../config/schema.ts'
import type { App } from '../context.ts'
import type { Method } from '../http/route.ts'
import type { AuditAction } from '../oauth/audit_events.ts'
import type { Capability } from '../records/api_key.ts'
import type { AuditEvent } from '../records/audit_event.ts'
import type { OnProgress } from '../records/job.ts'
import type { InputOf, RecordedOp, ResultOf } from '../store/operations.ts'
import type { CounterName } from '../telemetry/metric_names.ts'
import type { FormRules } from './forms/form.ts'

/** The operations on one kind of item. */
export interface AdminResource {
  /** The words of its commands after `admin`: `client`, `resource policy exchange`. */
  readonly name: string
  readonly doc: string
  /** What help texts call one item. Default: the name. */
  readonly item?: string
  /** Whether the configuration enables the resource. Default: always. */
  enabled?(config: Config): boolean
  /** By name; `rotateSecret` is the command `rotate-secret`. */
  readonly actions: Readonly<Record<string, Action>>
  /** Commands for a part of an operation, by name: each has the method and path of one of the actions. */
  readonly commands?: Readonly<Record<string, Action>>
  /** How commands find an item by what people know, by the name of the flag: `email`. Default: by its name, where items have one. */
  readonly lookup?: Readonly<Record<string, Lookup>>
  /** The members that a table shows first, the most important one first. */
  readonly columns?: readonly string[]
}

/** How an item is found without its id. Without `query` and `member`, the path takes the value in place of the id. */
export interface Lookup {
  /** One sentence of help. */
  readonly doc: string
  /** The query parameter of `list` that takes the value. Default: the whole list is read. */
  readonly query?: string
  /** The member that must equal the value. Default: every item that `query` finds. */
  readonly member?: string
}

/** An operation without the types of its schemas, as lists contain it. */
export interface Action extends Omit<Declared<string, z.ZodType, z.ZodType>, 'status'> {
  readonly method: Method
  /** Status of the answer: 204 without one. */
  readonly status: 200 | 201 | 204
  /** The whole path; `{id}` is a parameter. */
  readonly path: string
}

interface Declared<Route extends string, Q extends z.ZodType, B extends z.ZodType> {
  /** One sentence of help. */
  readonly doc: string
  /** Whether it creates an item. */
  readonly status?: 201
  /** Schema of the answer; for JSON lines, schema of one line. */
  readonly answer?: z.ZodType
  /** Whether it has the query parameter dry_run, which only checks the input and answers 200. */
  readonly dryRun?: true
  /** Whether it may take longer than a request may: after ten seconds the answer is 202 with a job, as which it continues. */
  readonly long?: true
  /** Whether the answer is an AsyncIterable, whose items are sent as JSON lines. */
  readonly lines?: true
  /** Query parameters. */
  readonly query?: Q
  /** Members of the JSON body. */
  readonly body?: B
  /** The list of the body whose items a refusal names by their index, in the member `errors`. */
  readonly items?: string
  /** How the admin page arranges the form of the body. */
  readonly form?: FormRules
  /** Whether a request without a body is like one with an empty object. */
  readonly bodyOptional?: true
  /** The capability that the caller needs. Default: viewer for GET, operator for every other method. */
  readonly needs?: Capability
  /** The audit event of a change. */
  readonly audit?: AuditAction
  /** The counter of a change, or of a noted event. */
  readonly count?: readonly [CounterName, Readonly<Record<string, string>>?]
  /** How the operation is a tool for agents (src/mcp). Without it, it is none. */
  readonly tool?: ToolRule
  /** How the command differs from the default that follows from the fields. false: REST only. */
  readonly cli?: Cli | false
  /** An operation without an answer need not return anything. */
  run(app: App, input: Input<Route, Q, B>, caller: Recorder): Promise<ActionResult | undefined>
}

/** The caller of an operation. */
export interface Caller {
  /** Name in the audit trail. */
  actor_id: string
  /** IP address. Empty for the command line. */
  ip: string
  request_id?: string
  capability: Capability
  /** An agent called it as a tool. Recorded with every event. */
  via?: 'mcp'
}

/** The caller, and how a change is made: with the audit event of the operation, in one transaction. */
export interface Recorder extends Caller {
  /** Runs an operation of the store, and records the event with it if it changed something. When another write came first, `run` begins again. */
  record<K extends RecordedOp>(op: K, input: InputOf<K>, change: Change): Promise<Exclude<ResultOf<K>, 'stale'>>
  /** The event of an operation that records it in its own way. */
  event(change: Change): AuditEvent
  /** Tells how far a long operation is. */
  readonly onProgress: OnProgress
}

/** A change, for its audit event: details as declared in oauth/audit_events.ts. */
export interface Change {
  /** Id of the event. Default: a new one. */
  event_id?: string
  client_id?: string
  detail: Record<string, unknown>
}

/** Path parameters, and the parsed query and body. */
interface Input<P extends string, Q extends z.ZodType, B extends z.ZodType> {
  params: ParamsOf<P>
  query: z.output<Q>
  body: z.output<B>
}
type ParamsOf<P extends string> = string extends P ? Record<string, string> : { [K in Names<P>]: string }
type Names<P extends string> = P extends `${string}{${infer Name}}${infer Rest}` ? Name | Names<Rest> : never

export interface ActionResult {
  /** The answer, if the operation has one. */
  shown?: unknown
  /** Whether it was a dry run. */
  dry?: true
  /** An event of something that changed no record. */
  noted?: Change
  /** A search stopped, because it read as many rows as one request may. The parameters with which the next request continues. */
  next?: SearchPlace
}
export interface SearchPlace {
  /** The last row that was read. */
  after: string
  /** The matches that are still to be skipped. */
  offset: number
}

interface Cli {
  /** The words of the command after `admin`. Default: the resource and the name of the operation. */
  readonly command?: string
  /** The command is written by hand, because it does more than send its flags. */
  readonly byHand?: true
  /** Flags whose name or form differs from that of the field. */
  readonly flags?: Readonly<Record<string, FlagRule>>
  /** Fields without a flag. */
  readonly without?: readonly string[]
  /** The item is in no list, and only its id names it. */
  readonly unlisted?: true
  /** The member of the answer whose rows the text output prints. */
  readonly rows?: string
  /** Whether the text output prints the other members of the answer too, before the rows. */
  readonly beforeRows?: true
}

/** The request header in which `service mcp` names the tool that an agent called. */
export const TOOL_HEADER = 'service-mcp-tool'

/** An operation as a tool for agents. Its input and output follow from the declaration. An operation that makes or shows a secret is never one. */
export interface ToolRule {
  /** In snake_case. */
  readonly name: string
  readonly title: string
  /** What it does, where it does less than the operation. Default: the help of the operation. */
  readonly doc?: string
  /** The members of the body that it takes, each of them required. Default: all. */
  readonly only?: readonly string[]
  /** The name of a path parameter as an argument, where the declared one says too little. */
  readonly params?: Readonly<Record<string, { readonly name: string; readonly doc: string }>>
  /** The member of the result that has the rows. An answer that is an array becomes this member. */
  readonly rows?: string
  /** Whether its results have reasons of refusals, which are explained. */
  readonly reasons?: true
  /**
   * It deletes or revokes, and takes dry_run. The name of the operation of the same resource that shows what would be hit; true where the
   * operation counts with dry_run itself.
   */
  readonly destructive?: string | true
  /** The criterion of a revocation, and the member of the item with its value: a dry run counts the live tokens of the item with it. */
  readonly counts?: readonly [criterion: string, member: string]
}

export interface FlagRule {
  /** The path parameter, query parameter or body member that it sets. */
  readonly field: string
  readonly doc?: string
  /** Name of the value in the help text. */
  readonly value?: string
  readonly required?: boolean
  /** A secret: `-` reads it from standard input, and `--<name>-file` from a file. */
  readonly secret?: true
  /** The value is the path of a file that holds the field as a JSON object; `-` is standard input. */
  readonly json?: true
  /** Converts all values of a repeated flag into the field. */
  read?(values: readonly string[]): unknown
}

/** An operation at a route, `GET /admin/users/{id}`, with the types of the path and the schemas. */
export function action<const Route extends `${Method} /${string}`, Q extends z.ZodType, B extends z.ZodType>(
  route: Route,
  declared: Declared<Route, Q, B>,
): Action {
  const [method, path] = route.split(' ') as [Method, string]
  return { ...declared, method, path, status: declared.status ?? (declared.answer ? 200 : 204) }
}

/** The capability that the caller of an operation needs. */
export const neededFor = ({ method, needs }: Pick<Action, 'method' | 'needs'>): Capability =>
  needs ?? (method === 'GET' ? 'viewer' : 'operator')

/** The names of the parameters in a path. */
export const paramNames = (path: string): string[] => [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)

/** `rotateSecret` and `rotate_secret` are written `rotate-secret`. */
export const kebab = (name: string): string =>
  name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`).replaceAll('_', '-')

/** The words of an operation's command after `admin`, or undefined when it has no command. */
export function commandOf({ name, actions, commands }: AdminResource, word: string): string | undefined {
  const cli = (actions[word] ?? commands?.[word])?.cli
  return cli === false ? undefined : (cli?.command ?? `${name} ${kebab(word)}`)
}
