// The steps that end an incident. Every step is an operation that exists on its own.
import type { Client } from '../../records/client.ts'
import type { Description } from '../../store/tokens/revocations.ts'
import type { Action, AdminResource } from '../action.ts'
import type { STEPS } from '../answers/incidents.ts'
import { clients } from '../clients/clients.ts'
import { consentGrants } from '../people/grants.ts'
import { users } from '../people/users.ts'
import type { RawInput } from '../perform.ts'
import { revocations } from '../revocations.ts'
import { keys } from '../system.ts'

/** A step: an operation, and what it ends. */
export interface Step {
  step: (typeof STEPS)[number]
  effect: string
  /** Such as `client.suspend`. */
  operation: string
  action: Action
  /** The operation runs once with each. */
  inputs: readonly RawInput[]
  /** Ticked at first. */
  suggested: boolean
  /** What it ends is counted with this. */
  ends?: Description
  /** What it ends, if that is known already. */
  counts?: { tokens?: number; sign_ins?: number }
}

interface Made extends Omit<Step, 'operation' | 'action' | 'inputs'> {
  /** The path parameters of its only input. */
  params?: RawInput['params']
  inputs?: readonly RawInput[]
}

/** A step that is an operation on one kind of item. */
export function stepOf({ name, actions }: AdminResource, word: string, { params = {}, ...made }: Made): Step {
  const action = actions[word]
  if (!action) throw new Error(`there is no operation ${name} ${word}`)
  const input = { params, query: {}, body: action.body ? {} : undefined }
  return { inputs: [input], ...made, operation: `${name}.${word}`, action }
}

/** The steps that there are. */
export const stepsThat = (...steps: readonly (Step | false | '' | undefined)[]): Step[] =>
  steps.filter((each): each is Step => Boolean(each))

/** What ends the tokens that fit a description. */
export const revokeStep = (
  step: Step['step'],
  effect: string,
  suggested: boolean,
  description: Record<string, string>,
): Step =>
  stepOf(revocations, 'create', {
    step,
    effect,
    suggested,
    inputs: [{ params: {}, query: {}, body: description }],
    ends: description,
  })

/** What ends the access of a client. */
export const clientSteps = ({ client_id, status }: Client): Step[] =>
  stepsThat(
    status !== 'suspended' &&
      stepOf(clients, 'suspend', {
        params: { client_id },
        step: 'suspend',
        effect:
          'The client gets no new tokens and cannot refresh. Introspection refuses its tokens. Reactivating undoes it.',
        suggested: false,
      }),
    revokeStep('client_tokens', 'Every token and sign-in of the client ends. Its users sign in again.', false, {
      client_id,
    }),
  )

/** What ends a signing key. */
export const keyStep = (kid: string, suggested: boolean): Step =>
  stepOf(keys, 'revoke', {
    params: { kid },
    step: 'key',
    effect: 'The key leaves the JWKS, and every token that it signed ends. Clients refresh or ask again.',
    suggested,
    ends: { kid },
  })

/** What signs a user out everywhere. */
export const signOutStep = (id: string): Step =>
  stepOf(users, 'forceLogout', {
    params: { id },
    step: 'sign_out',
    effect: 'Every session and refresh token of the user ends, at every client.',
    suggested: false,
    ends: { user_id: id },
  })

/** What ends one sign-in of a user at a client. */
export const signInStep = (id: string): Step =>
  stepOf(consentGrants, 'revokeSignIn', {
    params: { id },
    step: 'sign_in',
    effect: 'The refresh tokens and access tokens of this sign-in end. The user signs in there again.',
    suggested: true,
    counts: { sign_ins: 1 },
  })
