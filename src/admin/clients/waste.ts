// The admin operation that reports wasted tokens.
import { z } from 'zod'
import { int } from '../../lib/field.ts'
import { type AdminResource, action } from '../action.ts'
import { wasteAnswer } from '../answers/limits.ts'
import { wasteOf } from './token_waste.ts'

export const statistics: AdminResource = {
  name: 'stats',
  doc: 'Statistics of the service.',
  actions: {
    waste: action('GET /admin/stats/waste', {
      doc: 'Shows the clients that request far more tokens than they need, what these tokens cost in a month, and a message for the owner of each client. It reads the newest 100,000 tokens of the last day.',
      answer: wasteAnswer,
      cli: { command: 'waste', rows: 'clients' },
      tool: { name: 'waste', title: 'Wasted tokens', rows: 'clients' },
      query: z.strictObject({
        limit: int(1, 1000).prefault(20).describe('Maximum number of clients, those that waste most first.'),
      }),
      run: async (app, { query: { limit } }) => ({ shown: await wasteOf(app, limit) }),
    }),
  },
}
