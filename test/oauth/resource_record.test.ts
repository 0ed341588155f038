import { expect, test } from 'vitest'
import { resourceRecord } from '../../src/config/records.ts'
import { newResource } from '../../src/oauth/tokens/resource_record.ts'

const written = (fields: object) => resourceRecord.parse({ slug: 'notes', uri: 'https://notes.example.com', ...fields })

test('a resource without a policy has empty lists, and its slug as its name', () => {
  expect(newResource(written({ backend_kind: 'mint' }), 100)).toEqual({
    id: expect.stringMatching(/^r_[\w-]{22}$/),
    slug: 'notes',
    uri: 'https://notes.example.com',
    backend_kind: 'mint',
    display_name: 'notes',
    scopes: [],
    access: { mode: 'everyone', groups: [], users: [], email_domains: [] },
    token_claims: [],
    authorization_details_types: [],
    policy: { exchange: { allowed_client_ids: [] }, runtime: { client_ids: [] }, connect: { allowed_return_urls: [] } },
    version: 1,
    created_at: 100,
    updated_at: 100,
  })
})

test('only a broker resource stores return URLs, because users never connect to a mint resource', () => {
  const policy = { connect: { allowed_return_urls: ['https://app.example.com/*'] } }
  const urlsOf = (fields: object) => newResource(written({ policy, ...fields }), 0).policy.connect.allowed_return_urls
  expect(urlsOf({ backend_kind: 'mint' })).toEqual([])
  expect(urlsOf({ backend_kind: 'broker', broker_provider_slug: 'github' })).toEqual(['https://app.example.com/*'])
})
