// Admin operations on the keys of the admin API itself.
import { z } from 'zod'
import type { App } from '../context.ts'
import { slug, word } from '../lib/field.ts'
import { isId, newBearer } from '../lib/id.ts'
import { dated } from '../lib/time.ts'
import { API_KEY_PREFIX } from '../oauth/stored_api_key.ts'
import { type ApiKey, KEY_CAPABILITIES } from '../records/api_key.ts'
import { type AdminResource, action } from './action.ts'
import * as answers from './answers/service.ts'
import { paging } from './lists.ts'
import { badInput, conflict, existing } from './outcome.ts'
import { givenProvider } from './people/people.ts'

/** Without an @, so that the audit trail shows no key as if it were a person. */
const NAME = /^[A-Za-z0-9][\w.-]{0,63}$/
const newApiKey = z.strictObject({
  name: z
    .string()
    .regex(NAME, 'must be 1 to 64 letters, digits, ., _ and -')
    .describe('Unique name of the key. The audit trail names the actor admin:NAME.'),
  capability: word(KEY_CAPABILITIES).describe(
    'A viewer may only read. operator may also change records, but not keys, trust and configuration. admin may do everything. A scim key opens only /scim/v2 and global token revocation, for the people of one provider.',
  ),
  provider: slug()
    .optional()
    .describe('Slug of the provider whose people a scim key manages: default, or a provider of oidc.providers.'),
})

const apiKeyJson = ({ hash: _, ...key }: ApiKey) => dated(key)

/** Throws invalid_request unless exactly the SCIM keys name a provider, which must be enabled. */
function checkProvider(capability: ApiKey['capability'], provider: string | undefined, oidc: App['oidc']): void {
  if (capability !== 'scim') {
    if (provider !== undefined) throw badInput(['provider is only for the capability scim'])
  } else if (provider === undefined) throw badInput(['provider is required for the capability scim'])
  else givenProvider(oidc, provider)
}

export const apiKeys: AdminResource = {
  name: 'api-key',
  item: 'API key',
  doc: 'Keys of the admin API. The keys of the configuration (admin.api_key, admin.api_keys) are not among them.',
  actions: {
    list: action('GET /admin/api-keys', {
      doc: 'Lists the keys of the admin API that were created at run time, oldest first. last_used_at is at most 15 seconds late.',
      answer: z.array(answers.apiKey),
      query: z.strictObject(paging(1000, 1000)),
      run: async ({ store }, { query }) => ({ shown: (await store.listApiKeys(query)).map(apiKeyJson) }),
    }),
    create: action('POST /admin/api-keys', {
      doc: 'Creates a key of the admin API. The key is shown only in this response.',
      answer: answers.newApiKeyAnswer,
      status: 201,
      needs: 'admin',
      body: newApiKey,
      audit: 'api_key_created',
      async run({ config, clock, oidc }, { body: { name, capability, provider } }, by) {
        checkProvider(capability, provider, oidc)
        const { id, hash, value } = newBearer(API_KEY_PREFIX)
        const key: ApiKey = { id, name, capability, provider, hash, created_at: clock.now() }
        const isConfigured = config.admin.api_keys.some((each) => each.name === name)
        const change = { detail: { api_key_id: id, name, capability, ...(provider ? { provider } : {}) } }
        if (isConfigured || (await by.record('createApiKey', key, change)) === 'exists')
          throw conflict('an API key with this name exists already', 'name_taken')
        return { shown: { ...apiKeyJson(key), key: value } }
      },
    }),
    revoke: action('DELETE /admin/api-keys/{id}', {
      doc: 'Revokes a key of the admin API. It is refused from the next request on, at every instance.',
      needs: 'admin',
      audit: 'api_key_revoked',
      async run(_app, { params: { id } }, by) {
        const change = { detail: { api_key_id: id } }
        await existing('API key', isId(id) ? by.record('deleteApiKey', { id }, change) : undefined)
      },
    }),
  },
}
