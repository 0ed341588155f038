// Admin operations on clients. The fields and their rules are those of oauth/clients/client_metadata.ts.
import { z } from 'zod'
import type { App } from '../../context.ts'
import { offeredGrantTypes } from '../../grants/index.ts'
import { bool, name, word } from '../../lib/field.ts'
import {
  type ClientRegistration,
  checkClient,
  newClient,
  type Offered,
  offeredToAll,
} from '../../oauth/clients/client_metadata.ts'
import { setByOperator } from '../../oauth/clients/document_client.ts'
import { checkFederated } from '../../oauth/clients/federated_credential.ts'
import type { Client } from '../../records/client.ts'
import { type AdminResource, action, type Recorder } from '../action.ts'
import * as answers from '../answers/answers.ts'
import { clientForm, newClientForm } from '../forms/client_form.ts'
import { AFTER, cursorOf, paging, pieces, q, search } from '../lists.ts'
import { changedFields, changesOf, conflict, invalid } from '../outcome.ts'
import { checkClientChange } from '../rights.ts'
import { clientsByTokens } from './by_tokens.ts'
import { clientRestore, removeClient } from './client_deletion.ts'
import {
  clientExists,
  fetchDocument,
  newDocumentClient,
  refreshDocument,
  withKeptDocument,
} from './client_documents.ts'
import { clientScopesFlag, defaultResourceFlag, documentFlag, federatedFlag, jwksFlag } from './client_flags.ts'
import { limitFlags, limitsAfter, limitTool } from './client_limits.ts'
import {
  changedByOperator,
  checkDocumentMembers,
  creatable,
  defaultResourceOf,
  fixed,
  patchable,
  readKeys,
  withoutNulls,
} from './client_members.ts'
import { changeClient, getClient } from './client_record.ts'
import { rotateSecret } from './client_secrets.ts'
import { shownAlone, shownInList, withKeyWarning } from './client_shown.ts'
import { checkDelivery } from './delivery.ts'

const offeredBy = ({ config }: App): Offered => ({
  grant_types: offeredGrantTypes(config),
  ...offeredToAll(config),
})

export const clients: AdminResource = {
  name: 'client',
  doc: 'OAuth clients.',
  lookup: { name: { doc: 'Name of the client, if no other client has it.', query: 'q', member: 'client_name' } },
  columns: ['client_name', 'status', 'client_id', 'registration_source', 'grant_types'],
  actions: {
    list: action('GET /admin/clients', {
      doc: 'Lists clients, oldest first by default.',
      answer: z.array(answers.client),
      query: z.strictObject({
        status: word(['active', 'suspended']).optional().describe('Only clients with this status.'),
        source: word(['admin', 'dcr', 'cimd']).optional().describe('Only clients that were registered this way.'),
        ...paging(100_000, 50),
        after: name(2048).optional().describe(AFTER),
        q: q.describe('Only clients with this text in their name or id. Case is ignored.'),
        order: word(['oldest', 'newest', 'tokens'])
          .prefault('oldest')
          .describe(
            'Order of the items: oldest or newest first, or only the clients with tokens in the last 24 hours, those with the most first.',
          ),
        activity: bool()
          .prefault(false)
          .describe('Add the time of last use and the number of tokens of the last 24 hours.'),
      }),
      async run(app, { query: { after, q, activity, ...query } }) {
        const { store } = app
        const { status, source, order } = query
        if (order === 'tokens')
          return { shown: await shownInList(app, await clientsByTokens(app, { ...query, q, after }), activity) }
        const last = await cursorOf('client', after, async (client_id) => {
          const client = await store.findClient({ client_id })
          return client && { id: client_id, created_at: client.issued_at }
        })
        const page = { ...query, order, after: last }
        // An index serves one of the two filters, not both.
        const found = await (q === undefined && (status === undefined || source === undefined)
          ? pieces((piece) => store.listClients({ ...page, ...piece }), placeOf, page)
          : search((window) => store.listClientsWith({ q: q ?? '', status, source, order, ...window }), page))
        return { shown: await shownInList(app, found, activity) }
      },
    }),
    create: action('POST /admin/clients', {
      doc: 'Creates a client. The client_secret of a confidential client is returned only in this response. A client_id that is a URL names a client metadata document: the service keeps the one that you send, or fetches it now.',
      answer: answers.newClientAnswer,
      status: 201,
      form: newClientForm,
      body: creatable,
      audit: 'client_created',
      count: ['core_clients_registered_total', { source: 'admin' }],
      cli: {
        flags: {
          name: { field: 'client_name' },
          scopes: clientScopesFlag,
          federated: federatedFlag,
          'auth-method': { field: 'token_endpoint_auth_method' },
          'jwks-file': jwksFlag,
          document: documentFlag,
          'default-resource': defaultResourceFlag,
          ...limitFlags,
        },
        without: ['response_types'],
      },
      async run(app, { body }, by) {
        const ofDocument = await newDocumentClient(app, body)
        const { client, client_secret } = ofDocument ? { client: ofDocument } : await newClientOf(app, body)
        await checkClientChange(app, by, client)
        const { client_id: id, client_name, grant_types } = client
        const change = { client_id: id, detail: { client_name, grant_types } }
        if ((await by.record('createClient', client, change)) === 'exists') throw clientExists()
        const { client_id: _, ...shown } = await withKeyWarning(app, client)
        return { shown: { client_id: id, ...(client_secret ? { client_secret } : {}), ...shown } }
      },
    }),
    get: action('GET /admin/clients/{client_id}', {
      doc: 'Shows a client.',
      answer: answers.clientWithSecrets,
      cli: { command: 'client show' },
      run: async (app, { params }) => ({ shown: await shownAlone(app, await getClient(app, params.client_id)) }),
    }),
    update: action('PATCH /admin/clients/{client_id}', {
      doc: 'Changes the named members of a client. For a client with a metadata document the named members limit the document, even after it changes. An empty scope or list removes the limit. For a client that registered itself, the scope becomes a limit. Before, it was only a default. If a resource with which tokens of a provider can be obtained lists the client, further keys, federated credentials and redirect URIs need the capability admin.',
      answer: answers.clientWithSecrets,
      form: clientForm,
      body: patchable,
      tool: limitTool,
      audit: 'client_updated',
      cli: {
        flags: {
          name: { field: 'client_name' },
          scopes: clientScopesFlag,
          'jwks-file': jwksFlag,
          document: documentFlag,
          federated: federatedFlag,
          'default-resource': defaultResourceFlag,
          ...limitFlags,
        },
        without: Object.keys(fixed),
      },
      async run(app, { params, body }, by) {
        const client = await getClient(app, params.client_id)
        const { token_endpoint_auth_method, agent, default_resource, limits, jwks, document, ...rest } = body
        const patch = withoutNulls(jwks === undefined ? rest : { ...rest, jwks: readKeys(jwks) })
        const refixed = changedFields(client, { token_endpoint_auth_method, is_agent: agent })
        if (refixed.length > 0)
          throw invalid(`${refixed.join(', ')} cannot be changed; create a new client`, 'fixed_field')
        if (client.registration_source === 'cimd' && (jwks ?? rest.jwks_uri) !== undefined)
          throw invalid('the keys of this client are those of its metadata document', 'document_keys')
        checkDocumentMembers(client, rest)
        const kept = document ? await withKeptDocument(app, client, document) : { next: client, fields: [] }
        const next = {
          ...setByOperator(kept.next, patch),
          updated_at: app.clock.now(),
          default_resource:
            default_resource === undefined ? client.default_resource : await defaultResourceOf(app, default_resource),
          limits: limits === undefined ? client.limits : limitsAfter(client.limits, limits),
        }
        const fields = [...new Set([...kept.fields, ...changedByOperator(client, next, Object.keys(patch))])]
        if (fields.length === 0) return { shown: await shownAlone(app, client) }
        await checkClientChange(app, by, next, client)
        checkClient(next, offeredBy(app), client)
        checkDelivery(app.config, next, client)
        if (patch.federated_credentials) checkFederated(app.config, next)
        const change = { client_id: client.client_id, detail: changesOf(client, next, fields) }
        await by.record('updateClient', next, change)
        return { shown: await shownAlone(app, next) }
      },
    }),
    suspend: action('PATCH /admin/clients/{client_id}/suspend', {
      doc: 'Suspends an active client. It gets no new tokens.',
      answer: answers.clientStatus,
      tool: { name: 'suspend_client', title: 'Suspend a client' },
      audit: 'client_suspended',
      run: (app, { params }, by) => changeStatus(app, params.client_id, 'suspended', by),
    }),
    reactivate: action('PATCH /admin/clients/{client_id}/reactivate', {
      doc: 'Ends the suspension of a client.',
      answer: answers.clientStatus,
      tool: { name: 'reactivate_client', title: 'End the suspension of a client' },
      audit: 'client_reactivated',
      run: (app, { params }, by) => changeStatus(app, params.client_id, 'active', by),
    }),
    fetchDocument,
    refreshDocument,
    rotateSecret,
    delete: removeClient,
    restore: clientRestore,
  },
}

const placeOf = ({ issued_at, client_id }: Client) => ({ at: issued_at, id: client_id })

/** The record of a new client that an operator describes, with its secret. */
async function newClientOf(app: App, body: z.output<typeof creatable>): Promise<ClientRegistration> {
  const { client_id, client_name = '', agent, default_resource, limits = null, jwks, document, ...fields } = body
  const metadata = { ...fields, client_name, jwks: readKeys(jwks) }
  checkClient(metadata, offeredBy(app))
  checkFederated(app.config, metadata)
  checkDelivery(app.config, metadata)
  const uri = await defaultResourceOf(app, default_resource)
  const made = newClient({ ...metadata, is_agent: agent }, 'admin', app.clock.now(), client_id)
  return { ...made, client: { ...made.client, default_resource: uri, limits: limitsAfter(undefined, limits) } }
}

async function changeStatus(app: App, client_id: string, status: Client['status'], by: Recorder) {
  await changeClient(app, client_id, by, (client) => {
    if (client.status === status) throw conflict(`the client is ${status} already`, 'wrong_state')
    return { ...client, status }
  })
  return { shown: { status } }
}
