// What admin writes have in common: refusals, and trying again when another writer was first.
import { isDeepStrictEqual } from 'node:util'
import type { z } from 'zod'
import { listProblems } from '../lib/bounded.ts'
import { OAuthError } from '../lib/error.ts'
import { issuesOf } from '../lib/field.ts'

/** There is no such thing. */
export const notFound = (what: string): OAuthError => new OAuthError('not_found', `there is no such ${what}`)

/** It exists already, is in use, or is not in the right state. `body` has further members for the caller. */
export const conflict = (description: string, reason: string, body?: Record<string, unknown>): OAuthError =>
  new OAuthError('conflict', description, { reason, body })

/** A value that is well-formed but cannot be taken. */
export const invalid = (description: string, reason: string): OAuthError =>
  new OAuthError('invalid_request', description, { reason })

/** Input that is not what it must be: invalid_request that names every problem. */
export const badInput = (problems: readonly string[]): OAuthError => invalid(listProblems(problems), 'bad_input')

/** A value as a schema reads it. Throws invalid_request that names every problem. */
export function parsed<S extends z.ZodType>(schema: S, value: unknown): z.output<S> {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  throw badInput(issuesOf(result.error).map(({ path, message }) => `${path} ${message}`))
}

const ATTEMPTS = 5
/** Runs read, decide and write again when the write came too late. Throws conflict after a few times. */
export async function retryStale<T>(attempt: () => Promise<T | 'stale'>): Promise<T> {
  for (let left = ATTEMPTS; left > 0; left--) {
    const result = await attempt()
    if (result !== 'stale') return result
  }
  throw conflict('it is being changed by others; try again', 'stale')
}

/** The names of the members of a patch that differ from what is stored. */
export const changedFields = (stored: object, patch: object): string[] =>
  Object.entries(patch)
    .filter(([name, value]) => value !== undefined && !isDeepStrictEqual(value, Reflect.get(stored, name)))
    .map(([name]) => name)
