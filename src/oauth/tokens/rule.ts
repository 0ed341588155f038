// The rules of a grant as data: the token endpoint and explain ask the same ones, in the same order.
import type { App } from '../../context.ts'
import type { AuthorizationDetail } from '../../records/authorization_details.ts'
import type { Client } from '../../records/client.ts'
import type { Resource } from '../../records/resource.ts'
import type { ClaimsAbout } from './access.ts'
import type { RuleName } from './rule_name.ts'
import type { Subject, SubjectAccess } from './subject_access.ts'

/** What rules decide on, and what they have found. Each grant adds its own members. */
export interface GrantFacts extends Omit<Subject, 'client_id'> {
  client: Client
  /** URI of the resource that the token is for. */
  uri?: string | undefined
  resource?: Resource | undefined
  /** The scope parameter. */
  asked?: string | undefined
  /** The authorization_details parameter. */
  asked_details?: string | undefined
  /** The details of what the request presents: a code, a token. */
  held_details?: AuthorizationDetail[] | undefined
  /** The details that the rules allow. */
  authorization_details?: AuthorizationDetail[] | undefined
  /** The scopes that the rules so far allow. */
  names: readonly string[]
  /** The claims about the user in tokens for the resource. */
  about?: ClaimsAbout | undefined
  /** The scopes that the rules of the resource about the user were asked for, and what they say. */
  wanted?: readonly string[]
  access?: SubjectAccess
}

export interface GrantRule<F extends GrantFacts> {
  readonly name: RuleName
  /** Adds what it finds to the facts. Throws the refusal. */
  check(app: App, facts: F): Promise<void> | void
}

/** Asks the rules in their order, and returns the facts. Throws the refusal of the first rule that refuses. */
export async function decide<F extends GrantFacts>(app: App, rules: readonly GrantRule<F>[], facts: F): Promise<F> {
  for (const rule of rules) {
    const waits = rule.check(app, facts)
    if (waits) await waits
  }
  return facts
}
