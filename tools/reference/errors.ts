// Generates docs/reference/errors.md: the error codes.
import { CODES } from '../../src/lib/error.ts'
import { code, page, table } from './markdown.ts'

const INTRO = `Every error response has a body of the type \`application/problem+json\` (RFC 9457), which also has the members of RFC 6749 §5.2:
\`error\` is one of the codes below, \`error_description\` and \`detail\` are human-readable texts, \`status\` repeats the HTTP status. If the
\`Accept\` header names \`application/json\` and not \`application/problem+json\`, the OAuth endpoints send the same body as \`application/json\`; the admin
API does so if \`Accept\` does not name \`*/*\` either. In the device flow a request without \`Accept\` header gets \`application/json\`, because libpq reads no other type.
\`oauth.error_content_type: json\` makes \`application/json\` the type of all other errors of the public listener.
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
