// A Quarkus application signs people in.
import path from 'node:path'
import { afterAll, beforeAll, expect } from 'vitest'
import { maven } from '../interop/toolchain.ts'
import { freePort } from '../support/free_port.ts'
import { addClient, startService, type TestService } from '../support/service.ts'
import { commandOf, describeProduct, signInAt, startProgram } from './product.ts'

const toolchain = await maven(
  'quarkus',
  path.join(import.meta.dirname, 'quarkus'),
  'target/quarkus-app/quarkus-run.jar',
)

describeProduct(
  {
    name: 'Quarkus',
    version: '3.37.2',
    from: 'Maven io.quarkus:quarkus-oidc',
    set: [
      '`quarkus.oidc.application-type=web-app`, `quarkus.oidc.authentication.pkce-required=true`',
      '`quarkus.oidc.auth-server-url`, `client-id`, `credentials.secret`',
    ],
  },
  toolchain,
  (works) => {
    let service: TestService
    beforeAll(async () => {
      service = await startService({ SERVICE_OAUTH_OPENID: 'true' })
    })
    afterAll(() => service.close())

    works('sign-in of a client with a secret', async () => {
      const origin = `http://localhost:${await freePort()}`
      const { client_id, client_secret = '' } = await addClient(service, {
        token_endpoint_auth_method: 'client_secret_basic',
        redirect_uris: [`${origin}/me`],
        scope: 'openid',
      })
      const [java = '', ...jar] = commandOf(toolchain)
      const oidc = {
        'auth-server-url': service.issuer,
        'application-type': 'web-app',
        'client-id': client_id,
        'credentials.secret': client_secret,
        'authentication.pkce-required': 'true',
      }
      const options = Object.entries(oidc).map(([name, value]) => `-Dquarkus.oidc.${name}=${value}`)
      await startProgram([java, `-Dquarkus.http.port=${new URL(origin).port}`, ...options, ...jar], `${origin}/me`)
      const { user, page } = await signInAt(service, `${origin}/me`)
      expect(page.text).toBe(user.id)
    })
  },
)
