// Keys of the admin listener: who may use it, from the page and as tools for agents.
import { boolKey, listKey, recordsKey, secretKey, textKey, urlKey } from './key.ts'
import { DEFAULT_PROVIDER } from './oidc_keys.ts'
import { apiKeyRecord } from './records.ts'

/** The keys of `admin`. */
export const adminKeys = {
  enabled: boolKey({ default: true }).describe('Start the admin listener.'),
  address: textKey({ default: ':9001' }).describe(
    'Address of the admin listener. Never expose it publicly: 127.0.0.1:9001 is a good choice.',
  ),
  api_key: secretKey().describe(
    'Key of the admin API, with every capability. Without this key and without api_keys, every admin request is refused. Required when the issuer is not localhost.',
  ),
  api_keys: recordsKey(apiKeyRecord, ['sha256']).describe(
    'Additional keys of the admin API, so that the audit trail names the operator of each action. Each has a name, the SHA-256 of the key in hex, and a capability: read (viewer) or write (admin).',
  ),
  audit_exports: boolKey({ default: true }).describe(
    'Record an audit event for each export of the audit trail or of issued tokens, with its filters: these have personal data of many people.',
  ),
  mcp: {
    enabled: boolKey({ default: false }).describe(
      'Serve the operations of the admin API as tools for agents (MCP), at the path /mcp of the admin listener. `service mcp` needs no such key.',
    ),
    url: urlKey().describe(
      'URL of it as MCP clients use it, such as https://admin.example.com/mcp. https, or a loopback address. It is the resource of access tokens for it.',
    ),
  },
  sign_in: {
    enabled: boolKey({ default: false }).describe(
      'Let people sign in to the admin page at providers of oidc.*, where their groups give them a capability, or with admin.sign_in.local.',
    ),
    local: boolKey({ default: false }).describe(
      'Let local users with the role admin sign in to the admin page with a passkey, with the capability admin. To create or change such users then needs this capability too.',
    ),
    url: urlKey().describe(
      'Address of the admin page as browsers see it, without a path, such as https://admin.example.com. https, or a loopback address. Register <url>/admin/ui/sign-in/callback at the provider, and with /<slug> at its end for a provider of oidc.providers.',
    ),
    providers: listKey({ default: [DEFAULT_PROVIDER] }).describe(
      'Slugs of the providers. The administrators of these providers decide who is an admin here.',
    ),
    groups: {
      viewer: listKey().describe('Groups at the provider whose members may read everything and change nothing.'),
      operator: listKey().describe(
        'Groups at the provider whose members may also change records, but not keys, trust and configuration.',
      ),
      admin: listKey().describe('Groups at the provider whose members may do everything.'),
    },
  },
}
