// A broker provider with a service account, whose token endpoint records the assertions, and a member who vends from it.
import type { KeyPairKeyObjectResult } from 'node:crypto'
import { callAdmin } from './admin.ts'
import { addBrokerResource, addProvider, aMember, brokerScene } from './broker.ts'
import type { TestService } from './service.ts'

/** The private key of a pair as PEM. */
export const pemOf = ({ privateKey }: KeyPairKeyObjectResult): string =>
  String(privateKey.export({ type: 'pkcs8', format: 'pem' }))

/** The scene. `more` are members of the settings of the provider. Its key is in CONNECTOR_SA_KEY unless they say otherwise. */
export async function serviceAccountScene(service: TestService, more: Record<string, unknown> = {}) {
  const scene = await brokerScene(service)
  const { upstream, app, gateway } = scene
  const settings = { token_url: `${upstream.url}/token`, sa_email: 'sa@example.com', sa_key_ref: 'CONNECTOR_SA_KEY' }
  const provider = await addProvider(service, { protocol: 'service_account', config_data: { ...settings, ...more } })
  const policy = { exchange: { allowed_client_ids: [gateway.client_id] } }
  const resource = await addBrokerResource(service, provider, { policy })
  const assertions: string[] = []
  upstream.answer = (form, response) => {
    assertions.push(form['assertion'] ?? '')
    const access_token = `up-access-${assertions.length}`
    upstream.given.push(access_token)
    const body = { access_token, token_type: 'Bearer', expires_in: 3600 }
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  }
  const member = await aMember(service, app)
  return {
    ...{ ...scene, provider, resource, assertions, member },
    vend: (who = member) => scene.vend({ resource: resource.uri }, who),
    /** An admin connects the member. */
    connectAccount: (more: { impersonate_sub?: string } = {}) =>
      callAdmin(service, 'POST', '/admin/grants/broker', {
        ...{ user_id: member.user.id, broker_provider: provider.slug, impersonate_sub: member.user.email },
        ...more,
      }),
  }
}
