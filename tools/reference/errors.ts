// Generates docs/reference/errors.md: the error codes.
import { CODES } from '../../src/lib/error.ts'
import { code, page, table } from './markdown.ts'

const INTRO = `Every refusal has the same body, as \`application/problem+json\` (RFC 9457) with the members of RFC 6749 §5.2 beside it:
\`error\` is one of the codes below, \`error_description\` and \`detail\` are for people, \`status\` repeats the HTTP status. If the
\`Accept\` header names \`application/json\` and neither \`application/problem+json\` nor \`*/*\`, the same body is sent as \`application/json\`.
At \`/oauth/authorize\` the code is sent in the redirect, with \`state\` and \`iss\`, once the client and the redirect URI are verified.
The status is the usual one. The description of an endpoint states when it answers the same code with another status.`

/** The table of codes, in the order of their declaration. */
export const renderErrors = (): string =>
  page(
    'Errors',
    'src/lib/error.ts',
    INTRO,
    table(
      ['Code', 'Status', 'When'],
      Object.entries(CODES).map(([name, { status, doc }]) => [code(name), String(status), doc]),
    ),
  )
