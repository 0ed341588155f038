// How clients fare on their way in: what an operator looks at when somebody says that it does not connect.
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
  doc: 'How clients fared on their way in, from memory: the last steps of each client and address.',
  actions: {
    list: action({
      method: 'GET',
      path: '/admin/connections',
      doc: 'Lists the trails, last seen first, with the reason of every failure.',
      answer: z.array(answers.trail),
      cli: false,
      query: z.strictObject({
        client_id: text(2048).optional().describe('Only of this client.'),
        address: text(64).optional().describe('Only from this address.'),
        failing: bool().optional().describe('Only those whose last step failed, or did not.'),
        limit: int(1, 2000).prefault(100).describe('At most so many.'),
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
