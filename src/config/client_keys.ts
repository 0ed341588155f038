// Keys of which clients may connect.
import { wordKey } from './key.ts'

export const clientKeys = {
  clients: {
    approval: wordKey({
      of: ['none', 'documents', 'all'],
      default: 'none',
      doc: 'Which clients an operator must approve before users can allow them anything: none, those with a metadata document, or those that registered themselves too. Clients that operators created, and those that users allowed before the key was set, need no approval.',
    }),
  },
} as const
