// The limits of a client in the admin API: the member `limits` and its flags.
import { z } from 'zod'
import { jsonFloat, jsonInt, numberOf } from '../../lib/field.ts'
import type { ClientLimits } from '../../records/client.ts'
import type { FlagRule, ToolRule } from '../action.ts'

const MAX_REQUESTS_PER_SECOND = 1_000_000
const MAX_TOKENS_PER_DAY = 1_000_000_000
const CLEARS = 'null: the limit of the configuration. 0: no limit.'

/** The limits that an operator sends. */
export const limits = z
  .strictObject({
    requests_per_second: jsonFloat(0, MAX_REQUESTS_PER_SECOND)
      .nullable()
      .optional()
      .describe(`Requests per second of the client. ${CLEARS}`),
    tokens_per_day: jsonInt(0, MAX_TOKENS_PER_DAY)
      .nullable()
      .optional()
      .describe(`Tokens of the client in a day (UTC). ${CLEARS}`),
  })
  .nullable()
  .describe('Limits of this client. They take precedence over those of the configuration. null clears them.')

/** The limits of a client after an operator sent some. Members that were not sent stay. */
export function limitsAfter(before: ClientLimits | undefined, sent: z.output<typeof limits>): ClientLimits | undefined {
  const { requests_per_second, tokens_per_day } = { ...(sent && before), ...sent }
  const kept = {
    ...(typeof requests_per_second === 'number' ? { requests_per_second } : {}),
    ...(typeof tokens_per_day === 'number' ? { tokens_per_day } : {}),
  }
  return Object.keys(kept).length > 0 ? kept : undefined
}

const limitFlag = (member: keyof ClientLimits, doc: string): FlagRule => ({
  field: 'limits',
  doc: `${doc} 0: no limit. none: the limit of the configuration.`,
  value: 'number|none',
  read(values) {
    const value = values.at(-1)
    return { [member]: value === 'none' ? null : numberOf(value) }
  },
})
/** The flags of both limits. */
export const limitFlags = {
  'requests-per-second': limitFlag('requests_per_second', 'Maximum requests per second of the client.'),
  'tokens-per-day': limitFlag('tokens_per_day', 'Maximum tokens of the client in a day (UTC).'),
}

/** An agent may change the limits of a client, and no other member. */
export const limitTool: ToolRule = {
  name: 'limit_client',
  title: 'Limit a client',
  doc: 'Sets the limits of a client. Requests beyond them get 429 and do not count against the limit of all callers.',
  only: ['limits'],
}
