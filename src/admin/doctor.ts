// The findings about the running service, as an operation: `service doctor` adds what only the machine of the server can show.
import { z } from 'zod'
import type { App } from '../context.ts'
import { type AdminResource, action } from './action.ts'
import { clientFindings } from './clients/client_findings.ts'
import { activityOf } from './clients/connections.ts'
import { type Finding, ok } from './finding.ts'
import { statusOf } from './system.ts'

const findings = z.strictObject({
  findings: z.array(
    z.strictObject({
      check: z.string().describe('What was looked at.'),
      result: z.enum(['ok', 'warn', 'fail']).describe('warn: it works but should be changed. fail: it does not work.'),
      message: z.string(),
      fix: z.string().optional().describe('The suggested correction.'),
    }),
  ),
})

async function findingsOf(app: App): Promise<Finding[]> {
  const { attention } = await statusOf(app)
  const found = [
    ...attention.map(
      ({ kind, severity, text }): Finding => ({
        check: kind,
        result: severity === 'bad' ? 'fail' : 'warn',
        message: text,
      }),
    ),
    ...clientFindings(await activityOf(app)),
  ]
  return found.length > 0 ? found : [ok('service', 'nothing needs a person')]
}

export const diagnosis: AdminResource = {
  name: 'doctor',
  doc: 'What is wrong in the running service.',
  actions: {
    show: action({
      method: 'GET',
      path: '/admin/system/doctor',
      doc: 'Shows what is wrong in the running service, and how to correct it. `service doctor` on the machine of the server also checks its files and its configuration.',
      answer: findings,
      cli: { command: 'doctor', rows: 'findings' },
      tool: { name: 'doctor', title: 'What is wrong', rows: 'findings' },
      run: async (app) => ({ shown: { findings: await findingsOf(app) } }),
    }),
  },
}
