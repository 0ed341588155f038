// Refusals of admin writes, what a write changed, and the repetition of a write when another write came first.
import { isDeepStrictEqual } from 'node:util'
import type { z } from 'zod'
import { clip, listProblems } from '../lib/bounded.ts'
import { OAuthError, type RefusalReason } from '../lib/error.ts'
import { issuesOf } from '../lib/field.ts'

/** The item does not exist. */
export const notFound = (what: string): OAuthError => new OAuthError('not_found', `there is no such ${what}`)

/** The item that was looked up. Throws not_found if there is none. */
export async function existing<T>(what: string, lookup: Promise<T | undefined> | undefined): Promise<T> {
  const item = await lookup
  if (item === undefined) throw notFound(what)
  return item
}

/** The item exists already, is in use, or is in the wrong state. `body` has further members for the caller. */
export const conflict = (description: string, reason: RefusalReason, body?: Record<string, unknown>): OAuthError =>
  new OAuthError('conflict', description, { reason, body })

/** A well-formed value that is not acceptable. */
export const invalid = (description: string, reason: RefusalReason, body?: Record<string, unknown>): OAuthError =>
  new OAuthError('invalid_request', description, { reason, body })

/** Malformed input: invalid_request that names every problem. */
export const badInput = (problems: readonly string[], body?: Record<string, unknown>): OAuthError =>
  invalid(listProblems(problems), 'bad_input', body)

/** Parses a value by a schema. Throws invalid_request that names every problem. */
export function parsed<S extends z.ZodType>(schema: S, value: unknown): z.output<S> {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  throw badInput(issuesOf(result.error).map(({ path, message }) => `${path} ${message}`))
}

/** The names of the members of a patch that differ from what is stored. */
export const changedFields = (stored: object, patch: object): string[] =>
  Object.entries(patch)
    .filter(([name, value]) => value !== undefined && !isDeepStrictEqual(value, Reflect.get(stored, name)))
    .map(([name]) => name)

/** Members whose values are secrets or may contain one, and the names of people. Their change is recorded without the values. */
const HIDDEN = /secret|password|hash|credential|config_data|^jwks$|^(name|given_name|family_name|preferred_username)$/
const [MAX_CHANGES, MAX_VALUE] = [20, 300]

const textOf = (value: unknown): string =>
  clip(
    value === undefined || value === null ? '' : typeof value === 'string' ? value : JSON.stringify(value),
    MAX_VALUE,
  )

/** The changed members of a record for its audit event, with the values before and after where they are no secrets. */
export function changesOf(before: object, after: object, fields: readonly string[]) {
  const changes = fields
    .filter((field) => !HIDDEN.test(field))
    .slice(0, MAX_CHANGES)
    .map((field) => ({
      field,
      before: textOf(Reflect.get(before, field)),
      after: textOf(Reflect.get(after, field)),
    }))
  return { fields, ...(changes.length > 0 ? { changes } : {}) }
}
