// Generates docs/operate/troubleshooting.md from the table of reasons.
import { REASONS } from '../../src/lib/reasons/index.ts'
import { code, page, table } from './markdown.ts'

const INTRO = `When the service refuses a request, the client gets an error code and a sentence. The **reason** says exactly what was wrong. Only operators can see it, in these places:

- on the admin page under *Connections*, and in \`GET /admin/connections\`, which explain the latest requests of each client;
- in the log, under the \`request_id\` of the error response;
- in the audit log (\`GET /admin/audit\`), for authenticated clients and for sign-ins;
- as a label of \`ext_refusals_total\`.

\`service doctor\` finds most configuration errors. [Errors](../reference/errors.md) lists the error codes. The [runbook](runbook.md) explains the alerts.`

const AFTER_SIGN_IN = `If the login page appears again after a user has signed in, the browser did not send the session cookie. With \`session.secure: true\` the browser must use https, and the host in the address bar of the browser must be the host of the issuer.`

const END = `## The MCP server refuses a good token

\`service admin try decode\` says whether the service accepts the token, and if not, why. If it does, the cause is one of these: \`aud\` differs from the URL that the server expects; \`iss\` differs from \`server.issuer\`; the server uses an old
JWKS; or its clock is wrong.`

/** The table of each section, and what belongs to no reason. */
export const renderReasons = (): string =>
  page(
    'Troubleshooting, by reason',
    'src/lib/reasons',
    INTRO,
    ...Object.entries(REASONS).flatMap(([title, rows]) => [
      `## ${title}`,
      table(
        ['reason', 'what is wrong', 'what to do'],
        rows.map(([names, why, todo]) => [names.split(' ').map(code).join(', '), why, todo]),
      ),
      ...(title === 'Sign-in' ? [AFTER_SIGN_IN] : []),
    ]),
    END,
  )
