// What an admin operation is: declared once, read by the REST API, the command line and the generated reference.
import type { z } from 'zod'
import type { Config } from '../config/schema.ts'
import type { App } from '../context.ts'
import type { Method } from '../http/route.ts'
import type { AuditAction } from '../oauth/audit_events.ts'
import type { CounterName } from '../telemetry/metric_names.ts'

/** A group of operations on one kind of thing. */
export interface AdminResource {
  /** The words of its commands after `admin`: `client`, `resource policy exchange`. */
  readonly name: string
  readonly doc: string
  /** Whether it is there at all, as configured; without this it always is. */
  enabled?(config: Config): boolean
  /** By name; `rotateSecret` is the command `rotate-secret`. */
  readonly actions: Readonly<Record<string, Action>>
}

/** An operation whatever its schemas: what is in a list. */
export type Action = ActionOf<string, z.ZodType, z.ZodType>

export interface ActionOf<P extends string, Q extends z.ZodType, B extends z.ZodType> {
  readonly method: Method
  /** The whole path; `{id}` is a parameter. */
  readonly path: P
  /** One line. */
  readonly doc: string
  /** Of the answer; 200 unless it says otherwise. */
  readonly status?: 201 | 204
  /** What is shown; of JSON lines, one of them. */
  readonly answer?: z.ZodType
  /** The query parameter dry_run has it only check its input; the answer is then 200. */
  readonly dryRun?: true
  /** What is shown is an AsyncIterable, whose items are sent as JSON lines. */
  readonly lines?: true
  /** Query parameters; without it there are none. */
  readonly query?: Q
  /** Members of the JSON body; without it there is none. */
  readonly body?: B
  /** What the key must be allowed, where that is not what the method says: a GET reads, everything else writes. */
  readonly needs?: 'read'
  /** What a change is recorded as. */
  readonly audit?: AuditAction
  /** What a change is counted as. */
  readonly count?: readonly [CounterName, Readonly<Record<string, string>>?]
  /** How the command differs from what follows from the fields; false: REST only. */
  readonly cli?: Cli | false
  run(app: App, input: Input<P, Q, B>, caller: Caller): Promise<ActionResult>
}

/** Whom an operation is done for. */
export interface Caller {
  /** As in the audit trail. */
  actor_id: string
  /** Address; empty for the command line. */
  ip: string
  request_id?: string
}

/** Path parameters, and query and body as their schemas read them. */
interface Input<P extends string, Q extends z.ZodType, B extends z.ZodType> {
  params: ParamsOf<P>
  query: z.output<Q>
  body: z.output<B>
}
type ParamsOf<P extends string> = string extends P ? Record<string, string> : { [K in Names<P>]: string }
type Names<P extends string> = P extends `${string}{${infer Name}}${infer Rest}` ? Name | Names<Rest> : never

export interface ActionResult {
  /** The answer; none with status 204. */
  shown?: unknown
  /** It was a dry run. */
  dry?: true
  /** What the write did, for the audit trail and the counter: what its event is declared to have (oauth/audit_events.ts). Without it nothing changed. */
  changed?: { client_id?: string; detail: Record<string, unknown> }
}

interface Cli {
  /** The words of the command after `admin`, where they are not those of its resource and its own name. */
  readonly command?: string
  /** Flags by name, where the name or the form differs from the field's. */
  readonly flags?: Readonly<Record<string, FlagRule>>
  /** Fields without a flag. */
  readonly without?: readonly string[]
  /** The member of the answer whose rows are printed as text. */
  readonly rows?: string
}

export interface FlagRule {
  /** The path parameter, query parameter or body member it writes. */
  readonly field: string
  readonly doc?: string
  /** The word for the value in the help text. */
  readonly value?: string
  readonly required?: boolean
  /** Better not on the command line: `-` reads it from standard input, and `--<name>-file` from a file. */
  readonly secret?: true
  /** The value is the path of a file that holds the field as a JSON object; `-` is standard input. */
  readonly json?: true
  /** Makes the field of every value given; the flag may then be repeated. */
  read?(values: readonly string[]): unknown
}

/** Types an operation by its path and schemas. */
export const action = <const P extends string, Q extends z.ZodType, B extends z.ZodType>(
  declared: ActionOf<P, Q, B>,
): Action => declared

/** The names of the parameters in a path. */
export const paramNames = (path: string): string[] => [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)

/** `rotateSecret` and `rotate_secret` are written `rotate-secret`. */
export const kebab = (name: string): string =>
  name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`).replaceAll('_', '-')

/** The words after `admin` of the command for an operation; undefined when there is none. */
export function commandOf({ name, actions }: AdminResource, word: string): string | undefined {
  const cli = actions[word]?.cli
  return cli === false ? undefined : (cli?.command ?? `${name} ${kebab(word)}`)
}
