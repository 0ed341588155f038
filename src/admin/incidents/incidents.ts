// The admin operation for an incident: it shows what a leaked token, a person who left, a client that floods or a leaked key reaches, and ends
// what the operator chooses, with the operations that exist for it.
import { z } from 'zod'
import type { App } from '../../context.ts'
import { OAuthError } from '../../lib/error.ts'
import { jsonInt, text, word } from '../../lib/field.ts'
import { rfc3339 } from '../../lib/time.ts'
import { type AdminResource, action, neededFor, type Recorder } from '../action.ts'
import { incident, STEPS, SUBJECTS } from '../answers/incidents.ts'
import { invalid } from '../outcome.ts'
import { perform } from '../perform.ts'
import { dryRun, revokeFitting } from '../revocations.ts'
import { requireCapability } from '../rights.ts'
import { reachOf } from './reach.ts'
import type { Step } from './steps.ts'

type Shown = z.output<typeof incident>
type ShownStep = Shown['steps'][number]
type Progress = Recorder['onProgress']

const shownStep = ({ step, operation, effect, action, suggested, counts }: Step): ShownStep => ({
  step,
  operation,
  effect,
  needs: neededFor(action),
  suggested,
  ...counts,
  result: 'possible',
})

/** A step with what it would end, counted. */
async function counted(app: App, step: Step, onProgress: Progress): Promise<ShownStep> {
  if (!step.ends) return shownStep(step)
  const { tokens, families, clients } = await revokeFitting(app, step.ends, { dry_run: true, onProgress })
  return { ...shownStep(step), tokens, sign_ins: families, clients }
}

/** What the answers of revocations count. */
type Counted = Partial<Record<'tokens' | 'families' | 'clients' | 'tokens_revoked', number>>

/** Does a step. A refusal ends no other step: what can be ended is ended. */
async function done(app: App, step: Step, by: Recorder, onProgress: Progress): Promise<ShownStep> {
  const { actor_id, ip, request_id, capability, via } = by
  const caller = { actor_id, ip, request_id, capability, via }
  const shown = shownStep(step)
  try {
    for (const input of step.inputs) {
      const answer = await perform(app, step.action, input, caller, onProgress)
      const { tokens, families, clients, tokens_revoked } = (answer.shown ?? {}) as Counted
      if (typeof tokens === 'number') Object.assign(shown, { tokens, clients })
      const sign_ins = families ?? tokens_revoked
      if (sign_ins !== undefined) shown.sign_ins = sign_ins
    }
    return { ...shown, result: 'done' }
  } catch (error) {
    if (error instanceof OAuthError && error.status < 500)
      return { ...shown, result: 'refused', message: error.message }
    app.log.error({ err: error, operation: step.operation, request_id }, 'a step of an incident failed')
    return { ...shown, result: 'failed', message: 'internal error' }
  }
}

const amount = (count: number | undefined, one: string) =>
  count === undefined ? [] : [`${count} ${one}${count === 1 ? '' : 's'}`]

const lineOf = ({ operation, effect, result, message, tokens, sign_ins }: ShownStep): string => {
  const counts = [...amount(tokens, 'token'), ...amount(sign_ins, 'sign-in')].join(', ')
  return `- ${result}: ${operation}. ${effect}${counts && ` (${counts})`}${message ? ` Refused: ${message}.` : ''}`
}

/** The text for the report of the incident. */
function reportOf(
  { subject, about, dry_run, steps, remains }: Omit<Shown, 'report'>,
  by: Recorder,
  now: number,
): string {
  return [
    `Incident: ${subject.replace('_', ' ')}`,
    `Time: ${rfc3339(now)}`,
    `By: ${by.actor_id}`,
    ...(by.request_id && !dry_run ? [`Audit events: request_id ${by.request_id}`] : []),
    ...Object.entries(about).map(([name, value]) => `${name}: ${value}`),
    '',
    dry_run ? 'What can be ended:' : 'What was done:',
    ...steps.map(lineOf),
    '',
    'What remains:',
    ...remains.map((each) => `- ${each}`),
  ].join('\n')
}

export const incidents: AdminResource = {
  name: 'incident',
  doc: 'What a leaked token, a person who left, a client that floods or a leaked key reaches, and how it is ended.',
  actions: {
    end: action('POST /admin/incidents', {
      doc: 'Shows with dry_run what an incident reaches, with counts and the steps that end it. Without dry_run it does the named steps, each with its own audit event, and returns a report. A step that is refused does not stop the others.',
      answer: incident,
      body: z.strictObject({
        subject: word(SUBJECTS).describe(
          'What leaked or must end: a token (its jti), a sign_in (the family of a refresh token), a user, a client, a signing key (its kid), an api_key.',
        ),
        id: text(2048).min(1, 'must not be empty').describe('The jti, the id, the client_id or the kid.'),
        end: z
          .array(word(STEPS))
          .max(STEPS.length)
          .prefault([])
          .describe('The steps to do, by the names that a dry run shows. A dry run without steps shows all.'),
        requests_per_second: jsonInt(1, 1_000_000)
          .prefault(1)
          .describe('The new limit of the client, for the step limit.'),
        dry_run: dryRun,
      }),
      long: true,
      audit: 'incident_handled',
      tool: { name: 'end_incident', title: 'End what an incident reaches', destructive: true },
      cli: { rows: 'steps', beforeRows: true },
      async run(app, { body: { dry_run, end, ...asked } }, by) {
        const { about, steps, remains } = await reachOf(app, asked)
        const unknown = end.filter((name) => !steps.some(({ step }) => step === name))
        if (unknown.length > 0)
          throw invalid(
            `there is no step ${unknown.join(', ')} here; there are ${steps.map(({ step }) => step).join(', ')}`,
            'unknown_step',
          )
        if (!dry_run && end.length === 0) throw invalid('end names no step', 'no_step')
        const chosen = steps
          .filter(({ step }) => end.length === 0 || end.includes(step))
          .sort((a, b) => STEPS.indexOf(a.step) - STEPS.indexOf(b.step))
        if (!dry_run)
          for (const { action, step } of chosen) requireCapability(by, neededFor(action), `the step ${step}`)
        const shown: ShownStep[] = []
        let rows = 0
        for (const [i, step] of chosen.entries()) {
          const onProgress: Progress = (count, share) => by.onProgress(rows + count, (i + share) / chosen.length)
          const result = dry_run ? await counted(app, step, onProgress) : await done(app, step, by, onProgress)
          shown.push(result)
          rows += (result.tokens ?? 0) + (result.sign_ins ?? 0)
        }
        const { subject, id } = asked
        const of = dry_run ? {} : { request_id: by.request_id }
        const answer = { subject, id, about, dry_run, ...of, steps: shown, remains }
        const names = (isDone: boolean) =>
          shown.filter(({ result }) => (result === 'done') === isDone).map(({ step }) => step)
        const { client_id, ...rest } = about
        const detail = { incident: subject, ...rest, steps: names(true), refused_steps: names(false) }
        return {
          shown: { ...answer, report: reportOf(answer, by, app.clock.now()) },
          ...(dry_run ? {} : { noted: { client_id, detail } }),
        }
      },
    }),
  },
}
