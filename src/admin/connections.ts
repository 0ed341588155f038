// Client activity: the last steps of each client, for an operator who looks for the reason of a failure.
import { z } from 'zod'
import { bool, int, text } from '../lib/field.ts'
import { rfc3339 } from '../lib/time.ts'
import type { ClientActivity } from '../telemetry/client_activity.ts'
import { type AdminResource, action } from './action.ts'
import * as answers from './answers.ts'

const shown = ({ client_id, address, began_at, passages }: ClientActivity) => ({
  client_id,
  address,
  began_at: rfc3339(began_at),
  failing: (passages.at(-1)?.status ?? 0) >= 400,
  steps: passages.map(({ at, ...rest }) => ({ at: rfc3339(at), ...rest })),
})

export const connections: AdminResource = {
  name: 'connection',
  doc: 'Client activity: the last steps of each client and address, from memory.',
  columns: ['client_id', 'address', 'began_at', 'failing'],
  actions: {
    list: action({
      method: 'GET',
      path: '/admin/connections',
      doc: 'Lists client activity, latest first, with the reason of every failure.',
      answer: z.array(answers.trail),
      query: z.strictObject({
        client_id: text(2048).optional().describe('Only activity of this client.'),
        address: text(64).optional().describe('Only activity from this address.'),
        failing: bool()
          .optional()
          .describe(
            'With true only activity whose last step failed, with false only activity whose last step succeeded.',
          ),
        limit: int(1, 2000).prefault(100).describe('Maximum number of items.'),
      }),
      run: async ({ activity, frontPool }, { query: { client_id, address, failing, limit } }) => ({
        shown: (await (frontPool ? frontPool.activity() : activity.list()))
          .filter((trail) => client_id === undefined || trail.client_id === client_id)
          .filter((trail) => address === undefined || trail.address === address)
          .map(shown)
          .filter((trail) => failing === undefined || trail.failing === failing)
          .slice(0, limit),
      }),
    }),
  },
}
