// Generates docs/reference/audit-events.md from the declaration of the events.
import { DETAIL } from '../../src/oauth/audit_details.ts'
import { AUDIT_ACTIONS, AUDIT_EVENTS } from '../../src/oauth/audit_events.ts'
import { code, page, table } from './markdown.ts'

const INTRO = `\`GET /admin/audit\` lists them, \`GET /admin/audit/export\` streams them as JSON lines ([HTTP API](http-api.md)). Every event has \`id\` (ordered by time),
\`action\` (also as \`kind\`), \`actor_id\` (the user or client that acted; \`admin\` or \`admin:<name>\` for an operator; \`system\`; empty if the actor is unknown), \`client_id\`,
\`ip\`, \`request_id\`, \`created_at\` (also as \`timestamp\`) and \`detail\`, whose members are described below. A member that does not apply is absent. Details contain names,
never secrets, tokens or codes. Events are kept until \`service purge --only audit-events --older-than … --export …\` moves them to a file.

An event is written before the response is sent. Refusals at the token endpoint are the exception: their responses do not wait for it. An event that cannot be written is logged and counted
in \`ext_audit_events_dropped_total\`.`

/** The table of actions, and then the meaning of the members of their details. */
export const renderAuditEvents = (): string =>
  page(
    'Audit events',
    'src/oauth/audit_events.ts',
    INTRO,
    table(
      ['Action', 'What happened', 'Detail'],
      AUDIT_ACTIONS.map((name) => [code(name), AUDIT_EVENTS[name].doc, AUDIT_EVENTS[name].detail.map(code).join(', ')]),
    ),
    '## Members of the detail',
    table(
      ['Member', 'Meaning'],
      Object.entries(DETAIL).map(([name, meaning]) => [code(name), meaning]),
    ),
  )
