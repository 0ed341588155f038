// The findings about the running service, as an operation: `service doctor` adds what only the machine of the server can show.
import { z } from 'zod'
import type { App } from '../context.ts'
import { type AdminResource, action } from './action.ts'
import type { Attention } from './attention.ts'
import { clientFindings } from './clients/client_findings.ts'
import { activityOf } from './clients/connections.ts'
import { type Finding, fail, ok, warn } from './finding.ts'
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

/** The suggested correction, by the kind of what needs attention. Its text says which one it is. */
export const REMEDIES: Readonly<Record<Attention['kind'], string>> = {
  part: 'see StorageAway in docs/operate/runbook.md, and the log of the service',
  provider:
    'ask its operators; `service admin status` shows under providers what the service sees. After a repair `service admin idp refresh-keys --id ID` fetches the keys of one whose assertions are accepted',
  receiver:
    'correct the receiver, or its URL; events wait until it answers 2xx. `service admin webhook list` and `service admin stream list` show the last attempts',
  client:
    '`service admin connection list --client-id ID` shows the reason of each refusal, and docs/operate/troubleshooting.md what to do about it',
  client_requests: '`service admin client-request list`, then `approve` or `deny` with `--id ID`',
  document:
    'ask its publisher, or keep the document here: `service admin client update --id URL --document FILE`; see docs/guides/cimd.md',
  lockouts: '`service admin lockout list` shows them; see Lockouts in docs/operate/runbook.md',
  purge: 'see PurgeLate in docs/operate/runbook.md',
  backup: 'see BackupLate in docs/operate/runbook.md',
  certificate: 'ask the operators of the provider to renew it',
  setting: '`service admin status` shows the suggested value under concerns',
  instances: 'give all instances the same configuration; `service admin instance list` shows which one differs',
  database: 'see DatabaseWentBack in docs/operate/runbook.md',
  unknown: 'try again; when it stays, read the log of the service',
}

async function findingsOf(app: App): Promise<Finding[]> {
  const { attention } = await statusOf(app)
  const found = [
    ...attention.map(
      ({ kind, severity, text }): Finding => (severity === 'bad' ? fail : warn)(kind, text, REMEDIES[kind]),
    ),
    ...clientFindings(await activityOf(app)),
  ]
  return found.length > 0 ? found : [ok('service', 'nothing needs a person')]
}

export const diagnosis: AdminResource = {
  name: 'doctor',
  doc: 'What is wrong in the running service.',
  actions: {
    show: action('GET /admin/system/doctor', {
      doc: 'Shows what is wrong in the running service, and how to correct it. `service doctor` on the machine of the server also checks its files and its configuration.',
      answer: findings,
      cli: { command: 'doctor', rows: 'findings' },
      tool: { name: 'doctor', title: 'What is wrong', rows: 'findings' },
      run: async (app) => ({ shown: { findings: await findingsOf(app) } }),
    }),
  },
}
