// oauth2-proxy before an application: people sign in, and programs come with an access token.
import { afterAll, beforeAll, expect } from 'vitest'
import { goProgram } from '../interop/toolchain.ts'
import { Browser } from '../support/browser.ts'
import { authorize, redeem, walk } from '../support/flow.ts'
import { freePort } from '../support/free_port.ts'
import { addClient, addResource, addUser, startService, type TestService } from '../support/service.ts'
import { commandOf, describeProduct, startProgram } from './product.ts'

const VERSION = '7.15.6'
const toolchain = await goProgram('oauth2-proxy', `github.com/oauth2-proxy/oauth2-proxy/v7@v${VERSION}`)
const API = 'https://api.example.com/'

describeProduct(
  {
    name: 'oauth2-proxy',
    version: VERSION,
    from: 'Go module',
    set: [
      '`--provider=oidc`',
      '`--code-challenge-method=S256`',
      '`--scope="openid email groups"`, `--allowed-group`',
      '`--skip-jwt-bearer-tokens`, `--extra-jwt-issuers=ISSUER=RESOURCE`; `token_claims: [groups]` of the resource',
    ],
  },
  toolchain,
  (works) => {
    let service: TestService
    let origin: string
    beforeAll(async () => {
      service = await startService({ SERVICE_OAUTH_OPENID: 'true' })
      const port = await freePort()
      origin = `http://localhost:${port}`
      const { client_id, client_secret } = await addClient(service, {
        redirect_uris: [`${origin}/oauth2/callback`],
        scope: 'openid email groups',
      })
      const options = [
        '--provider=oidc',
        `--oidc-issuer-url=${service.issuer}`,
        `--client-id=${client_id}`,
        `--client-secret=${client_secret}`,
        `--redirect-url=${origin}/oauth2/callback`,
        '--code-challenge-method=S256',
        '--scope=openid email groups',
        '--email-domain=*',
        '--allowed-group=staff',
        `--http-address=127.0.0.1:${port}`,
        '--upstream=static://202',
        `--cookie-secret=${'0123456789abcdef'.repeat(2)}`,
        '--cookie-secure=false',
        '--skip-provider-button',
        '--skip-jwt-bearer-tokens',
        `--extra-jwt-issuers=${service.issuer}=${API}`,
        '--bearer-token-login-fallback=false',
      ]
      await startProgram([...commandOf(toolchain), ...options], `${origin}/ping`)
    })
    afterAll(() => service.close())

    const visit = async (groups: string[]) => {
      const [user, browser] = [await addUser(service, { operator_groups: groups }), new Browser()]
      const { location = '' } = await browser.open(origin)
      const callback = await walk(service, location, user, browser)
      const { status, location: after = '' } = await browser.open(callback.href)
      return status === 302 ? (await browser.open(after)).status : status
    }

    works('sign-in of a person in the allowed group', async () => {
      expect(await visit(['staff'])).toBe(202)
    })

    works('refusal of a person in no allowed group', async () => {
      expect(await visit([])).toBe(403)
    })

    works('access tokens as bearer tokens, with the groups of the person', async () => {
      await addResource(service, { uri: API, token_claims: ['groups'] })
      const [client, user] = [await addClient(service), await addUser(service, { operator_groups: ['staff'] })]
      const authorized = await authorize(service, client, user, { resource: API })
      const { body } = await redeem(service, client, authorized)
      const withToken = (token: unknown) => fetch(origin, { headers: { authorization: `Bearer ${token}` } })
      expect((await withToken(body['access_token'])).status).toBe(202)
      expect((await withToken(`${body['access_token']}x`)).status).toBe(403)
    })
  },
)
