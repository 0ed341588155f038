// The end of a sign-in that an operator tries on the page: the code is redeemed, and the MCP server is called with the token.
import { z } from 'zod'
import type { App } from '../../context.ts'
import { authorizationCode } from '../../grants/authorization_code.ts'
import { OAuthError } from '../../lib/error.ts'
import { name, text } from '../../lib/field.ts'
import { isHttpUrl } from '../../lib/url.ts'
import { FetchError } from '../../net/error.ts'
import { type AdminResource, action } from '../action.ts'
import { triedSignIn } from '../answers/connect.ts'
import { invalid } from '../outcome.ts'
import { fetchFix, fetchForOperator } from '../resources/resource_check.ts'
import { getResource } from '../resources/resource_record.ts'
import { mint, TRY_DOC } from './try.ts'

type Step = z.output<typeof triedSignIn>['steps'][number]

const MAX_SHOWN = 300
/** The first request of an MCP client. */
const INITIALIZE = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'sign-in test of the admin page', version: '1' },
  },
})

export const trySignIn: AdminResource = {
  name: 'try',
  doc: TRY_DOC,
  actions: {
    signIn: action('POST /admin/try/sign-in', {
      doc: 'Redeems the authorization code of a test client, and calls the MCP server of the resource with the access token. Shows each step and its answer, and no token.',
      answer: triedSignIn,
      body: z.strictObject({
        client_id: name(2048).describe('The public client that the code was issued to.'),
        code: name(2048).describe('The code.'),
        code_verifier: name(128).describe('The verifier of its code_challenge.'),
        redirect_uri: name(2048).describe('The URI to which the code was sent.'),
        resource: text(2048).min(1, 'must not be empty').describe('Slug or id of the resource.'),
      }),
      audit: 'token_tried',
      cli: false,
      async run(app, { body: { resource, ...form } }, caller) {
        const { uri } = await getResource(app, resource)
        if (uri === undefined || !isHttpUrl(uri)) throw invalid('the resource has no http or https URI', 'no_uri')
        const asked = { grant_type: authorizationCode.type, ...form, resource: uri }
        const step = 'Redeem the code at the token endpoint'
        try {
          const { access_token, scope } = await mint(app, authorizationCode, asked, caller)
          const redeemed = { step, ok: true, answer: `an access token, scope: ${scope || 'none'}` }
          return {
            shown: { steps: [redeemed, await called(app, uri, access_token)] },
            noted: { client_id: form.client_id, detail: { granted: true } },
          }
        } catch (error) {
          if (!(error instanceof OAuthError) || error.status >= 500) throw error
          const { code, message, reason = code } = error
          return {
            shown: { steps: [{ step, ok: false, answer: `${code}: ${message}`, fix: `the reason is ${reason}` }] },
            noted: { client_id: form.client_id, detail: { granted: false, reason } },
          }
        }
      },
    }),
  },
}

/** Calls an MCP server as a client does first. */
async function called(app: App, uri: string, token: string): Promise<Step> {
  const step = `POST ${uri} with the token (initialize)`
  try {
    const { status, headers, body } = await fetchForOperator(app, uri, {
      method: 'POST',
      headers: {
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
        authorization: `Bearer ${token}`,
      },
      body: INITIALIZE,
    })
    const challenge = headers['www-authenticate']
    const said = challenge ?? body.toString('utf8').trim()
    // An answer may contain the token that it refuses.
    const answer = `${status} ${said.replaceAll(token, '…').slice(0, MAX_SHOWN)}`.trim()
    return status < 300 ? { step, ok: true, answer } : { step, ok: false, answer, fix: fixOf(status) }
  } catch (error) {
    if (!(error instanceof FetchError)) throw error
    return { step, ok: false, answer: error.reason, fix: fetchFix(error) }
  }
}

function fixOf(status: number): string {
  if (status === 401)
    return 'the server refuses the token: compare the issuer, the audience (the URI, character by character), the algorithm and typ at+jwt in its settings'
  if (status === 403) return 'the server wants a scope that the token does not have'
  if (status === 404 || status === 405) return 'the URI is not that of the MCP endpoint'
  return 'look at the log of the server'
}
