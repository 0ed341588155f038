// The authenticator of the Kubernetes API server takes ID tokens of people, and access tokens. It wants an issuer with https.
import { readFileSync } from 'node:fs'
import { request } from 'node:http'
import { createServer, type Server } from 'node:https'
import path from 'node:path'
import { afterAll, beforeAll, expect } from 'vitest'
import { drive } from '../interop/driver.ts'
import { goMain } from '../interop/toolchain.ts'
import { authorize, machineToken, redeem } from '../support/flow.ts'
import { freePort } from '../support/free_port.ts'
import { cert, key } from '../support/localhost_certificate.ts'
import { addClient, addResource, addUser, startService, type TestService } from '../support/service.ts'
import { commandOf, describeProduct } from './product.ts'

const here = path.join(import.meta.dirname, 'kubernetes')
const toolchain = await goMain(here)
const CLUSTER = 'https://kubernetes.example.com/'

describeProduct(
  {
    name: 'Kubernetes API server (authenticator)',
    version: /k8s\.io\/apiserver v(\S+)/.exec(readFileSync(path.join(here, 'go.mod'), 'utf8'))?.[1] ?? '',
    from: 'Go module k8s.io/apiserver',
    set: [
      '`--oidc-issuer-url`, `--oidc-client-id`',
      '`--oidc-groups-claim=groups`',
      '`--oidc-username-claim=email` with `oauth.id_token_claims: all`',
      '`--oidc-signing-algs=RS256,ES256` for access tokens',
    ],
  },
  toolchain,
  (works) => {
    let service: TestService
    let tls: Server
    let issuer: string
    beforeAll(async () => {
      const port = await freePort()
      issuer = `https://localhost:${port}`
      service = await startService({
        SERVICE_OAUTH_OPENID: 'true',
        SERVICE_OAUTH_ID_TOKEN_CLAIMS: 'all',
        SERVICE_SERVER_ISSUER: issuer,
      })
      tls = createServer({ key, cert }, ({ url, method, headers }, response) =>
        request(service.issuer + url, { method, headers }, (answer) => {
          response.writeHead(answer.statusCode ?? 502, answer.headers)
          answer.pipe(response)
        }).end(),
      ).listen(port, 'localhost')
    })
    afterAll(async () => {
      tls.close()
      await service.close()
    })

    const authenticated = async (audience: string, username: string, token: unknown) => {
      const task = { issuer, audience, username, ca: cert, tokens: [token, `${token}x`] }
      const { result } = await drive(commandOf(toolchain), task, service)
      return result
    }
    const refused = { refused: expect.any(String) }

    works('an ID token: email and groups', async () => {
      const [client, user] = [
        await addClient(service, { scope: 'openid email groups' }),
        await addUser(service, { operator_groups: ['admins'] }),
      ]
      const authorized = await authorize(service, client, user, { scope: 'openid email groups' })
      const { body } = await redeem(service, client, authorized)
      const [known, changed] = (await authenticated(client.client_id, 'email', body['id_token'])) as unknown[]
      expect([known, changed]).toEqual([{ name: user.email, groups: ['admins'] }, refused])
    })

    works('an access token (`at+jwt`, ES256) for the resource of the cluster', async () => {
      await addResource(service, { uri: CLUSTER })
      const client = await addClient(service)
      const { body } = await machineToken(service, client, { resource: CLUSTER, scope: 'mcp:read' })
      const [known] = (await authenticated(CLUSTER, 'sub', body['access_token'])) as unknown[]
      expect(known).toMatchObject({ name: client.client_id })
    })
  },
)
