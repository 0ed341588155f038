// Broker providers as input of the configuration file and the admin API, with the settings of each protocol.
import { z } from 'zod'
import { endpoint, issuesOf, jsonInt, name, slug, text, word } from '../lib/field.ts'

/** Environment variables that may contain secrets of providers. A provider record cannot read other variables. */
export const SECRET_REF = /^(CONNECTOR|SERVICE_SECRET)_[A-Z0-9_]{1,200}$/
const secretRef = () =>
  z.string().regex(SECRET_REF, 'must name a variable CONNECTOR_… or SERVICE_SECRET_…, in capitals, digits and _')

/** Parameters that the service itself sends to an authorization endpoint. */
const RESERVED = [
  'client_id',
  'client_secret',
  'response_type',
  'response_mode',
  'redirect_uri',
  'scope',
  'state',
  'code_challenge',
  'code_challenge_method',
  'request',
  'request_uri',
]

export const oauthConfig = z.strictObject({
  client_id: name(1024).describe('The id of this service at the provider.'),
  client_secret_ref: secretRef().describe('The environment variable of this server that contains the secret.'),
  authorize_url: endpoint().describe('Where users sign in and agree.'),
  token_url: endpoint().describe('Where this service gets tokens.'),
  revoke_url: endpoint().optional().describe('The revocation endpoint (RFC 7009), called when a user disconnects.'),
  response_format: word(['standard', 'form'])
    .default('standard')
    .describe('form: token responses may be form-encoded.'),
  token_endpoint_auth_method: word(['client_secret_post', 'client_secret_basic']).default('client_secret_post'),
  extra_auth_params: z
    .record(name(100), text(1000), 'must be an object of texts')
    .refine((given) => !Object.keys(given).some((key) => RESERVED.includes(key)), `must not set ${RESERVED.join(', ')}`)
    .optional()
    .describe('Further parameters of the authorization request.'),
})

export const apikeyConfig = z.strictObject({
  header_name: z.string().regex(/^[A-Za-z0-9-]{1,100}$/, 'must be the name of a header'),
  header_prefix: text(100).optional(),
  issuance_instructions_url: endpoint().optional().describe('The page where users find their key.'),
})

export const serviceAccountConfig = z.strictObject({
  token_url: endpoint(),
  sa_email: name(320),
  sa_key_ref: secretRef(),
  token_ttl_seconds: jsonInt(30, 3600).prefault(3600),
  algorithm: word(['RS256', 'ES256']).default('RS256'),
  impersonate: word(['explicit', 'email', 'account'])
    .default('explicit')
    .describe(
      'The identity that the account impersonates. explicit and email: the identity that an admin set for the user. The email of the account is never used, because operators write it. account: none; the account itself is used for every user.',
    ),
})

const CONFIGS = { oauth: oauthConfig, apikey: apikeyConfig, service_account: serviceAccountConfig } as const

/** The JSON Schema of the settings of a protocol. */
const schemaOf = (settings: z.ZodType): object => {
  const { $schema: _, ...schema } = z.toJSONSchema(settings, { io: 'input', unrepresentable: 'any' })
  return schema
}

/** The fields of a broker provider in input. */
export const providerFields = {
  slug: slug().describe('Public name of the provider, used in the path of the connect flow.'),
  display_name: name().describe('The name that users see.'),
  protocol: word(['oauth', 'apikey', 'service_account']).describe('How upstream tokens are obtained.'),
  config_data: z
    .record(z.string().max(255), z.unknown(), 'must be an object')
    .meta({ anyOf: Object.entries(CONFIGS).map(([title, settings]) => ({ title, ...schemaOf(settings) })) })
    .describe('The settings of the protocol. Instead of a secret they contain the name of an environment variable.'),
} as const

/** A complete provider. Secret values are refused under any name. */
export const providerRecord = z.strictObject(providerFields).superRefine(({ protocol, config_data }, context) => {
  const refuse = (path: string, message: string) =>
    context.addIssue({ code: 'custom', path: ['config_data', ...(path ? [path] : [])], message })
  const literal = Object.keys(config_data).filter((key) => /_(secret|password|key|token)$/.test(key))
  for (const key of literal)
    refuse(key, `must not be in the record: set an environment variable and name it in ${key}_ref`)
  if (literal.length > 0) return
  const result = CONFIGS[protocol].safeParse(config_data)
  if (!result.success) for (const { path, message } of issuesOf(result.error)) refuse(path, message)
})
export type ProviderRecord = z.output<typeof providerRecord>

const urlsIn = ({ config_data }: Pick<ProviderRecord, 'config_data'>, keys: readonly string[]): string[] =>
  keys.flatMap((key) => (typeof config_data[key] === 'string' ? [config_data[key]] : []))

/** The endpoints of a provider that this service calls. */
export const calledEndpointsOf = (provider: Pick<ProviderRecord, 'config_data'>): string[] =>
  urlsIn(provider, ['token_url', 'revoke_url'])

/** The endpoints of a provider that are called or that users are redirected to. */
export const endpointsOf = (provider: Pick<ProviderRecord, 'config_data'>): string[] => [
  ...urlsIn(provider, ['authorize_url']),
  ...calledEndpointsOf(provider),
]
