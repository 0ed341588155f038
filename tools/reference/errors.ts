// Generates docs/reference/errors.md: the error codes.
import { CODES } from '../../src/lib/error.ts'
import { code, page, table } from './markdown.ts'

const INTRO = `Every error response has a body of the type \`application/problem+json\` (RFC 9457), which also has the members of RFC 6749 §5.2:
\`error\` is one of the codes below, \`error_description\` and \`detail\` are human-readable texts, \`status\` repeats the HTTP status. If the
\`Accept\` header names \`application/json\` and neither \`application/problem+json\` nor \`*/*\`, the same body is sent as \`application/json\`.
At \`/oauth/authorize\` the code is sent in the redirect, with \`state\` and \`iss\`, if the client and the redirect URI are verified.
The table has the usual status of each code. If an endpoint uses another status, its description states that.`

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
