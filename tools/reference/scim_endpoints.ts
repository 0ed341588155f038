// Descriptions of the endpoints of SCIM and of global token revocation for docs/reference/http-api.md.
import type { Endpoint } from './endpoint.ts'

const CALLER =
  'Only with `scim.enabled`. Needs a key with the capability `scim` as bearer token ([guide](../guides/scim.md)).'
const ERRORS = {
  401: 'The key is missing or wrong, with `WWW-Authenticate: Bearer`. Errors have the form of RFC 7644 §3.12.',
  403: 'The key has another capability.',
} as const
const NOT_THERE = 'The provider of the key has no such resource.'
const BAD = 'A `scimType`: `invalidSyntax`, `invalidValue`, `invalidPath`, `noTarget` or `mutability`.'
const TAKEN = '`uniqueness`: another one of the provider has the name or `externalId`.'
const SHOWN = {
  attributes: 'Only these attributes, separated by commas.',
  excludedAttributes: 'All attributes but these.',
} as const
const PAGED = {
  filter: 'Comparisons with `eq`, joined by `and`.',
  startIndex: 'Position of the first resource, from 1.',
  count: 'Maximum number of resources, at most 200.',
  ...SHOWN,
} as const

const described = (doc: string, takes: Endpoint['takes'], answers: Endpoint['answers']): Endpoint => ({
  doc: `${doc} ${CALLER}`,
  ...(takes ? { takes } : {}),
  answers: { ...answers, ...ERRORS },
})
const byId = (what: string) => ({ id: `Id of the ${what}.` })

/** The endpoints of one kind of resource. */
function resource(what: 'user' | 'group', path: string): Record<string, Endpoint> {
  const taken = { 400: BAD, 409: TAKEN }
  const one = byId(what)
  return {
    [`GET ${path}`]: described(`Lists ${what}s of the provider, oldest first (RFC 7644 §3.4.2).`, PAGED, {
      200: 'A ListResponse.',
      400: '`invalidFilter`, or `tooMany` members in a list of groups.',
    }),
    [`POST ${path}`]: described(`Creates a ${what} (RFC 7644 §3.3).`, undefined, {
      201: `The ${what}, with \`Location\`.`,
      ...taken,
    }),
    [`GET ${path}/{id}`]: described(`Shows a ${what}.`, { ...one, ...SHOWN }, { 200: `The ${what}.`, 404: NOT_THERE }),
    [`PUT ${path}/{id}`]: described(`Replaces a ${what} (RFC 7644 §3.5.1).`, one, {
      200: `The ${what}.`,
      ...taken,
      404: NOT_THERE,
    }),
    [`PATCH ${path}/{id}`]: described(`Changes a ${what}: all operations, or none (RFC 7644 §3.5.2).`, one, {
      ...(what === 'user' ? { 200: 'The user.' } : { 204: 'Changed.' }),
      ...taken,
      404: NOT_THERE,
    }),
    [`DELETE ${path}/{id}`]: described(`Deletes a ${what}.`, one, { 204: 'Deleted.', 404: NOT_THERE }),
  }
}

const DOCUMENT = { 200: 'The document.' } as const

export const SCIM_ENDPOINTS: Readonly<Record<string, Endpoint>> = {
  'GET /scim/v2/ServiceProviderConfig': described('What SCIM supports here (RFC 7643 §5).', undefined, DOCUMENT),
  'GET /scim/v2/ResourceTypes': described('Lists the kinds of resources (RFC 7643 §6).', undefined, DOCUMENT),
  'GET /scim/v2/ResourceTypes/{id}': described('Shows a kind of resource.', byId('kind'), {
    ...DOCUMENT,
    404: NOT_THERE,
  }),
  'GET /scim/v2/Schemas': described('Lists the schemas (RFC 7643 §7).', undefined, DOCUMENT),
  'GET /scim/v2/Schemas/{id}': described('Shows a schema.', byId('schema'), { ...DOCUMENT, 404: NOT_THERE }),
  ...resource('user', '/scim/v2/Users'),
  ...resource('group', '/scim/v2/Groups'),
  'POST /oauth/global-token-revocation': described(
    'Ends the sessions and tokens of a person (draft-parecki-oauth-global-token-revocation). The JSON body has `sub_id`, a subject identifier (RFC 9493) of the format `email`, `iss_sub` or `opaque`.',
    undefined,
    { 204: 'Ended.', 400: 'The body has no subject identifier.', 404: 'The provider of the key has no such person.' },
  ),
}
