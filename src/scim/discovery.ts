// /ServiceProviderConfig, /ResourceTypes and /Schemas (RFC 7643 §5 to §7).
import type { App } from '../context.ts'
import type { Reply, Request } from '../http/message.ts'
import { listReply, notThere, scimReply, URNS } from './message.ts'
import { EMAIL_PARTS, NAME_PARTS, scimUrl } from './person.ts'
import { MAX_COUNT } from './query.ts'

const no = { supported: false } as const

/** What is supported. */
export const serviceProviderConfig = (app: App): Reply =>
  scimReply(200, {
    schemas: [URNS.config],
    patch: { supported: true },
    bulk: { ...no, maxOperations: 0, maxPayloadSize: 0 },
    filter: { supported: true, maxResults: MAX_COUNT },
    changePassword: no,
    sort: no,
    etag: no,
    authenticationSchemes: [
      {
        type: 'oauthbearertoken',
        name: 'SCIM key',
        description: 'A key with the capability scim as bearer token (RFC 6750).',
        specUri: 'https://www.rfc-editor.org/info/rfc6750',
        primary: true,
      },
    ],
    meta: { resourceType: 'ServiceProviderConfig', location: scimUrl(app, '/ServiceProviderConfig') },
  })

const TYPES = [
  { name: 'User', endpoint: '/Users', description: 'People of the provider.', schema: URNS.user },
  { name: 'Group', endpoint: '/Groups', description: 'Groups of the provider.', schema: URNS.group },
] as const

const typeJson = (app: App, type: (typeof TYPES)[number]) => ({
  schemas: [URNS.resourceType],
  id: type.name,
  ...type,
  schemaExtensions: [],
  meta: { resourceType: 'ResourceType', location: scimUrl(app, `/ResourceTypes/${type.name}`) },
})

/** The endpoints of what never changes: all items, and one by its id. */
const published = (what: string, itemsOf: (app: App) => { id: string }[]) => ({
  list(app: App): Reply {
    const items = itemsOf(app)
    return listReply(items.length, 1, items)
  },
  one(app: App, { params }: Request): Reply {
    const item = itemsOf(app).find(({ id }) => id === params['id'])
    if (!item) throw notThere(what)
    return scimReply(200, item)
  },
})

/** The kinds of resources. */
export const resourceTypes = published('resource type', (app) => TYPES.map((type) => typeJson(app, type)))

const attribute = (name: string, description: string, more: object = {}) => ({
  name,
  type: 'string',
  multiValued: false,
  description,
  required: false,
  caseExact: false,
  mutability: 'readWrite',
  returned: 'default',
  uniqueness: 'none',
  ...more,
})
/** An attribute that is not a text. */
const other = (type: string, name: string, description: string, more: object = {}) => {
  const { caseExact: _, uniqueness: __, ...rest } = attribute(name, description, { type, ...more })
  return rest
}
const complex = (name: string, description: string, subAttributes: object[], more: object = {}) => ({
  ...other('complex', name, description, more),
  subAttributes,
})
const bool = (name: string, description: string) => other('boolean', name, description)
const reference = (referenceTypes: string[], more: object = {}) =>
  attribute('$ref', 'URL of the resource.', { type: 'reference', referenceTypes, caseExact: true, ...more })
const readOnly = { mutability: 'readOnly' } as const
const once = { mutability: 'immutable' } as const

const EXTERNAL_ID = attribute('externalId', 'Id at the provider.', { caseExact: true })

const SCHEMAS = [
  {
    id: URNS.user,
    name: 'User',
    description: 'A person of the provider.',
    attributes: [
      attribute('userName', 'Name at the provider; unique there.', { required: true, uniqueness: 'server' }),
      EXTERNAL_ID,
      attribute('displayName', 'Name that is shown.'),
      complex(
        'name',
        'Parts of the name.',
        NAME_PARTS.map((part) => attribute(part, `The part ${part} of the name.`)),
      ),
      complex(
        'emails',
        'Email addresses.',
        EMAIL_PARTS.map((part) =>
          part === 'primary'
            ? bool(part, 'Whether it is the main one.')
            : attribute(part, `The ${part} of the address.`),
        ),
        { multiValued: true },
      ),
      // It always has a value, and cannot be removed.
      { ...bool('active', 'Whether the person may sign in.'), required: true },
      complex(
        'groups',
        'Groups of the person. They are changed at the group.',
        [
          attribute('value', 'Id of the group.', readOnly),
          reference(['Group'], readOnly),
          attribute('display', 'Name of the group.', readOnly),
          attribute('type', 'Always direct.', { ...readOnly, canonicalValues: ['direct'] }),
        ],
        { ...readOnly, multiValued: true },
      ),
    ],
  },
  {
    id: URNS.group,
    name: 'Group',
    description: 'A group of people of the provider.',
    attributes: [
      attribute('displayName', 'Name of the group, as access rules name it.', { required: true, uniqueness: 'server' }),
      EXTERNAL_ID,
      complex(
        'members',
        'People in the group.',
        [
          attribute('value', 'Id of the person.', once),
          reference(['User'], once),
          attribute('type', 'Always User.', { ...once, canonicalValues: ['User'] }),
        ],
        { multiValued: true },
      ),
    ],
  },
] as const

const schemaJson = (app: App, schema: (typeof SCHEMAS)[number]) => ({
  schemas: [URNS.schema],
  ...schema,
  meta: { resourceType: 'Schema', location: scimUrl(app, `/Schemas/${schema.id}`) },
})

/** The schemas of people and groups, by their URNs. */
export const schemas = published('schema', (app) => SCHEMAS.map((schema) => schemaJson(app, schema)))
