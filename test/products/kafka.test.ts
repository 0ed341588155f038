// Kafka's own client and broker: a token by secret and by an assertion that the client signs (RFC 7523 §2.1), and its check by the keys.
import path from 'node:path'
import { exportPKCS8 } from 'jose'
import { afterAll, beforeAll, expect } from 'vitest'
import { drive } from '../interop/driver.ts'
import { java } from '../interop/toolchain.ts'
import { addKeyedClient } from '../support/assertion.ts'
import { tempFile } from '../support/folder.ts'
import { addClient, addResource, startService, type TestService } from '../support/service.ts'
import { commandOf, describeProduct } from './product.ts'

const here = path.join(import.meta.dirname, 'kafka')
const toolchain = await java(path.join(here, 'Kafka.java'), path.join(here, 'pom.xml'))
const CLUSTER = 'kafka://cluster.example.com'
const OAUTHBEARER = 'org.apache.kafka.common.security.oauthbearer'

describeProduct(
  {
    name: 'Kafka (clients and broker)',
    version: '4.1.1',
    from: 'Maven org.apache.kafka:kafka-clients',
    set: [
      '`default_resource` of the client, because Kafka names no resource',
      '`sasl.oauthbearer.assertion.claim.jti.include=true` with assertions, and an RSA key',
      '`sasl.oauthbearer.expected.audience`, `sasl.oauthbearer.expected.issuer` of the broker',
    ],
  },
  toolchain,
  (works) => {
    let service: TestService
    beforeAll(async () => {
      service = await startService()
      await addResource(service, { uri: CLUSTER, scopes: ['mcp:read'] })
    })
    afterAll(() => service.close())

    const fetched = async (properties: Record<string, string>, file = '') => {
      const [token, keys] = [`${service.issuer}/oauth/token`, `${service.issuer}/.well-known/jwks.json`]
      const task = {
        urls: `${token},${keys}`,
        files: file,
        client_properties: { 'sasl.oauthbearer.token.endpoint.url': token, ...properties },
        broker_properties: {
          'sasl.oauthbearer.jwks.endpoint.url': keys,
          'sasl.oauthbearer.expected.audience': CLUSTER,
          'sasl.oauthbearer.expected.issuer': service.issuer,
        },
      }
      return (await drive(commandOf(toolchain), task, service)).result
    }

    works('a token with a client secret, and its check by a broker', async () => {
      const { client_id, client_secret } = await addClient(
        service,
        { scope: 'mcp:read' },
        { default_resource: CLUSTER },
      )
      const properties = {
        'sasl.oauthbearer.client.credentials.client.id': client_id,
        'sasl.oauthbearer.client.credentials.client.secret': client_secret,
        'sasl.oauthbearer.scope': 'mcp:read',
      }
      expect(await fetched(properties)).toEqual({ principal: client_id, scope: ['mcp:read'] })
    })

    works('a token with an assertion that the client signs', async () => {
      const { client_id, key } = await addKeyedClient(service, { alg: 'RS256', default_resource: CLUSTER })
      const file = tempFile('key.pem', await exportPKCS8(key.privateKey))
      const properties = {
        'sasl.oauthbearer.jwt.retriever.class': `${OAUTHBEARER}.JwtBearerJwtRetriever`,
        // It reads RSA keys only, which are its default.
        'sasl.oauthbearer.assertion.private.key.file': file,
        'sasl.oauthbearer.assertion.claim.iss': client_id,
        'sasl.oauthbearer.assertion.claim.sub': client_id,
        'sasl.oauthbearer.assertion.claim.aud': service.issuer,
        'sasl.oauthbearer.assertion.claim.jti.include': 'true',
        'sasl.oauthbearer.scope': 'mcp:read',
      }
      expect(await fetched(properties, file)).toEqual({ principal: client_id, scope: ['mcp:read'] })
    })
  },
)
