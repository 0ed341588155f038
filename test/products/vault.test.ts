// Vault's JWT/OIDC method, in its own package: people sign in with their groups, programs come with an access token.
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, expect } from 'vitest'
import { drive } from '../interop/driver.ts'
import { goMain } from '../interop/toolchain.ts'
import { machineToken } from '../support/flow.ts'
import { addClient, addResource, addUser, REDIRECT_URI, startService, type TestService } from '../support/service.ts'
import { commandOf, describeProduct } from './product.ts'

const here = path.join(import.meta.dirname, 'vault')
const toolchain = await goMain(here)
const VAULT = 'https://vault.example.com/'

describeProduct(
  {
    name: 'Vault (JWT/OIDC method)',
    version: /vault-plugin-auth-jwt v(\S+)/.exec(readFileSync(path.join(here, 'go.mod'), 'utf8'))?.[1] ?? '',
    from: 'Go module github.com/hashicorp/vault-plugin-auth-jwt',
    set: [
      '`oidc_scopes="openid,profile,email,groups"`, `groups_claim="groups"`, `user_claim="sub"`',
      '`jwt_supported_algs="ES256"` and `bound_audiences` for access tokens',
    ],
  },
  toolchain,
  (works) => {
    let service: TestService
    beforeAll(async () => {
      service = await startService({ SERVICE_OAUTH_OPENID: 'true' })
    })
    afterAll(() => service.close())

    works('sign-in of a person, with groups', async () => {
      const { client_id, client_secret } = await addClient(service, { scope: 'openid profile email groups' })
      const user = await addUser(service, { operator_groups: ['admins'] })
      const task = {
        client: 'oidc',
        issuer: service.issuer,
        clientId: client_id,
        clientSecret: client_secret,
        redirect: REDIRECT_URI,
      }
      const { result } = await drive(commandOf(toolchain), task, service, user)
      expect(result).toEqual({ user: user.id, groups: ['admins'] })
    })

    works('login of a program with an access token', async () => {
      await addResource(service, { uri: VAULT })
      const client = await addClient(service)
      const { body } = await machineToken(service, client, { resource: VAULT, scope: 'mcp:read' })
      const task = { client: 'jwt', issuer: service.issuer, audience: VAULT, token: body['access_token'] }
      const { result } = await drive(commandOf(toolchain), task, service)
      expect(result).toEqual({ user: client.client_id, groups: [] })
    })
  },
)
