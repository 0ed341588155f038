// What the pages of clients share: sources in words, and the dialog that shows a secret.
import { handOver, type NewCredentials } from '../lib/held.ts'
import { go, href } from '../lib/router.ts'
import type { ClientAnswer } from '../lib/types.ts'
import { ShownOnce } from '../parts/shown_once.tsx'

/** What a client does, and where it gets its answers. */
export const FLOW = [
  'grant_types',
  'redirect_uris',
  'post_logout_redirect_uris',
  'id_token_signed_response_alg',
  'backchannel_logout_uri',
  'backchannel_logout_session_required',
  'backchannel_token_delivery_mode',
  'backchannel_client_notification_endpoint',
  'require_pushed_authorization_requests',
  'scope',
]
/** The members of a client that its form has. */
export const EDITABLE = [
  ...['client_name', ...FLOW, 'application_type', 'agent_description'],
  ...['dpop_bound_access_tokens', 'default_resource', 'limits'],
]

/** How a client was registered, in words. */
export const SOURCES = { admin: 'Created by an operator', dcr: 'Registered itself', cimd: 'Metadata document' } as const

/** Shows a secret, once. A machine can get its first token with it at once. */
export const SecretDialog = ({
  title,
  client_id,
  client_secret = '',
  grant_types = [],
  onClose,
}: {
  title: string
  client_id: string
  client_secret?: string
  grant_types?: readonly string[]
  onClose: () => void
}) => (
  <ShownOnce
    title={title}
    note="The secret is shown only now, because only its hash is stored. If it is lost, rotate it."
    values={[
      { label: 'client_id', what: 'client_id', value: client_id },
      { label: 'client_secret', what: 'client_secret', value: client_secret },
    ]}
    next={grant_types.includes('client_credentials') ? firstToken({ client_id, client_secret }) : undefined}
    onClose={onClose}
  />
)

const firstToken = (credentials: NewCredentials) => ({
  text: 'Get a token with it',
  open() {
    handOver(credentials)
    go(href(['try']))
  },
})

/** The limits of a client in words. */
export const limitsText = ({ requests_per_second, tokens_per_day }: NonNullable<ClientAnswer['limits']>) =>
  [
    ...(requests_per_second === undefined ? [] : [`${requests_per_second || 'any number of'} requests per second`]),
    ...(tokens_per_day === undefined ? [] : [`${tokens_per_day || 'any number of'} tokens per day`]),
  ].join(', ')
