// The forms of clients on the admin page.
import type { FormRules } from './form.ts'

const EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange'
const CIBA = 'urn:openid:params:grant-type:ciba'
const DEVICE = 'urn:ietf:params:oauth:grant-type:device_code'

/** How the fields of a client are arranged. */
const fields: FormRules['fields'] = {
  client_name: { needed: true },
  redirect_uris: { needed: true, when: ['grant_types', 'authorization_code'] },
  federated_credentials: { when: ['token_endpoint_auth_method', 'federated_jwt'] },
  jwks: { when: ['token_endpoint_auth_method', 'private_key_jwt'] },
  jwks_uri: { when: ['token_endpoint_auth_method', 'private_key_jwt'] },
  agent_description: { when: ['agent', 'true'] },
  scope: { kind: 'scope' },
  default_resource: { kind: 'resource_uri' },
  grant_types: { advanced: true },
  token_endpoint_auth_method: { advanced: true },
  application_type: { advanced: true },
  agent: { advanced: true },
  post_logout_redirect_uris: { advanced: true, when: ['grant_types', 'authorization_code'] },
  id_token_signed_response_alg: { advanced: true, when: ['grant_types', 'authorization_code'] },
  backchannel_logout_uri: { advanced: true, when: ['grant_types', 'authorization_code'] },
  backchannel_logout_session_required: { advanced: true, when: ['grant_types', 'authorization_code'] },
  backchannel_token_delivery_mode: { advanced: true, when: ['grant_types', CIBA] },
  backchannel_client_notification_endpoint: { advanced: true, when: ['grant_types', CIBA] },
  require_pushed_authorization_requests: { advanced: true, when: ['grant_types', 'authorization_code'] },
  dpop_bound_access_tokens: { advanced: true },
  limits: { advanced: true },
  client_id: { advanced: true },
}

/** The form of a stored client. */
export const clientForm: FormRules = { fields }

/** The form of a new client. */
export const newClientForm: FormRules = {
  question: 'What is it?',
  kinds: {
    application: {
      title: 'Application that people sign in to',
      about: 'On a desktop or phone, or a page without a server. It has no secret.',
      start: {
        grant_types: ['authorization_code', 'refresh_token'],
        token_endpoint_auth_method: 'none',
        application_type: 'native',
      },
    },
    web: {
      title: 'Web application with a server',
      about: 'People sign in. Its server keeps a secret.',
      start: {
        grant_types: ['authorization_code', 'refresh_token'],
        token_endpoint_auth_method: 'client_secret_basic',
        application_type: 'web',
      },
    },
    machine: {
      title: 'Machine',
      about: 'A job or a service that acts for itself.',
      start: { grant_types: ['client_credentials'], token_endpoint_auth_method: 'client_secret_basic' },
    },
    agent: {
      title: 'Agent',
      about: 'Acts for itself, and for users whose tokens it exchanges.',
      start: {
        grant_types: ['client_credentials', EXCHANGE],
        token_endpoint_auth_method: 'client_secret_basic',
        agent: true,
      },
    },
    device: {
      title: 'Device',
      about: 'Without a browser or keyboard: people enter its code on another device.',
      start: {
        grant_types: [DEVICE, 'refresh_token'],
        token_endpoint_auth_method: 'none',
        application_type: 'native',
      },
    },
    workload: {
      title: 'Workload',
      about: 'In Kubernetes, GitHub Actions or a cloud, which gives it an identity. It has no secret.',
      start: { grant_types: ['client_credentials'], token_endpoint_auth_method: 'federated_jwt' },
    },
  },
  fields,
}
