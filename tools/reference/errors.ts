// docs/reference/errors.md: the codes a caller can meet.
import { CODES } from '../../src/lib/error.ts'
import { code, page, table } from './markdown.ts'

const INTRO = `Every refusal has the same body, as \`application/problem+json\` (RFC 9457) with the members of RFC 6749 §5.2 beside it:
\`error\` is one of the codes below, \`error_description\` and \`detail\` are for people, \`status\` repeats the HTTP status. Where the
\`Accept\` header names \`application/json\` and neither \`application/problem+json\` nor \`*/*\`, the same body goes out as \`application/json\`.
At \`/oauth/authorize\`, once client and redirect URI are proven, the code travels on the redirect with \`state\` and \`iss\` instead.
The status is the usual one; an endpoint may answer the same code with another where its description says so.`

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
