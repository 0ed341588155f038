// Answers about an MCP server that is being connected.
import { z } from 'zod'

const step = z.strictObject({
  step: z.string().describe('What was done.'),
  ok: z.boolean(),
  answer: z.string().describe('What the other side answered.'),
  fix: z.string().optional().describe('What to change. Present when it failed.'),
})

export const discovered = z.strictObject({
  steps: z.array(step),
  metadata_url: z.string().describe('Where the metadata was looked for.'),
  resource: z.string().optional().describe('The URI that the metadata states.'),
  scopes: z.array(z.string()).describe('The scopes that the metadata states.'),
  slug: z.string().optional().describe('The registered resource with this URI.'),
})

export const triedSignIn = z.strictObject({ steps: z.array(step) })
