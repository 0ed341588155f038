// A browser at the admin page, without a screen: what the page sends, and the sign-in at a provider.
import type { AdminAnswer } from './admin.ts'
import { FederatedBrowser } from './federated_browser.ts'
import { federating } from './openid_fake.ts'
import { RealProvider } from './openid_provider.ts'
import { ADMIN_KEY, startService, type TestService } from './service.ts'

/** The groups that give each capability. */
export const GROUPS = { viewer: 'auditors', operator: 'support', admin: 'platform' } as const

/** Environment of a service whose admin page people can sign in to. */
export const adminSignIn = (issuer: string, more: Record<string, string> = {}): Record<string, string> =>
  federating(issuer, {
    SERVICE_ADMIN_SIGN_IN_ENABLED: 'true',
    SERVICE_ADMIN_SIGN_IN_URL: '<admin>',
    SERVICE_ADMIN_SIGN_IN_GROUPS_VIEWER: GROUPS.viewer,
    SERVICE_ADMIN_SIGN_IN_GROUPS_OPERATOR: GROUPS.operator,
    SERVICE_ADMIN_SIGN_IN_GROUPS_ADMIN: GROUPS.admin,
    ...more,
  })

/** A service and a real provider at which people sign in to its admin page. */
export async function openAdminFederation(
  more: Record<string, string> = {},
  file?: string,
): Promise<{ service: TestService; op: RealProvider; close(): Promise<void> }> {
  const op = await RealProvider.listen()
  const service = await startService(adminSignIn(op.issuer, more), file)
  op.open(service, 'ES256')
  return {
    service,
    op,
    async close() {
      op.close()
      await service.close()
    },
  }
}

/** The id of the user that signed in as the present person of a provider. The newest user may be another one of the same second. */
export const idOfPerson = async ({ app }: TestService, { issuer, person }: RealProvider): Promise<string> =>
  (await app.store.findSubjectUser({ issuer, sub: person.sub })) ?? ''

/** A browser at the admin page. */
export class AdminBrowser extends FederatedBrowser {
  private readonly admin: string
  constructor(service: TestService, ...providers: readonly { issuer: string }[]) {
    super({ issuer: service.admin }, ...providers)
    this.admin = service.admin
  }

  /** Sends a request as the page does. `headers` replace the header of the page. */
  async send<B = Record<string, unknown>>(
    method: string,
    path: string,
    body?: object,
    headers: Record<string, string> = { 'x-admin-page': 'http:' },
  ): Promise<AdminAnswer<B>> {
    const page = await this.open(this.admin + path, {
      method,
      headers: { accept: 'application/json', ...(body ? { 'content-type': 'application/json' } : {}), ...headers },
      ...(body ? { body: JSON.stringify(body) } : {}),
    })
    return { status: page.status, headers: page.headers, body: (page.text ? JSON.parse(page.text) : undefined) as B }
  }

  /** Signs in at the provider. */
  signInAsPerson = (suffix = '') => this.travel(`${this.admin}/admin/ui/sign-in/start${suffix}`)

  /** Signs in with a key. */
  signInWithKey = (key = ADMIN_KEY) =>
    this.send('POST', '/admin/ui/session', undefined, { 'x-admin-page': 'http:', authorization: `Bearer ${key}` })

  /** Who is signed in, as the page sees it. */
  async operator(): Promise<{ actor_id: string; capability: string } | undefined> {
    const { body } = await this.send<{ operator?: { actor_id: string; capability: string } }>(
      'GET',
      '/admin/ui/session',
    )
    return body.operator
  }
}
