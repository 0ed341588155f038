// One client: its data, its activity and the operations on it.

import { useState } from 'preact/hooks'
import { call, segment } from '../lib/api.ts'
import { grantOptions } from '../lib/grants.ts'
import { go, href } from '../lib/router.ts'
import type { ClientAnswer, ClientWithSecrets, FetchedDocument, RefreshedDocument } from '../lib/types.ts'
import { useWork } from '../lib/work.ts'
import { ActivityCard } from '../parts/activity.tsx'
import { useChanged } from '../parts/changed.ts'
import { ConfirmButton } from '../parts/dialog.tsx'
import { DeleteButton, EditButton, ItemPage, RelatedPages, Restorable } from '../parts/entity.tsx'
import { History } from '../parts/history.tsx'
import { OperationButton } from '../parts/operation_button.tsx'
import { FailuresCard } from '../parts/sent.tsx'
import {
  Badge,
  Card,
  Caution,
  Copy,
  type Fact,
  Facts,
  JsonText,
  Lines,
  Mono,
  Name,
  PageHead,
  ProblemNote,
  sentence,
  Time,
} from '../parts/text.tsx'
import { EDITABLE, limitsText, SOURCES } from './client_parts.tsx'
import { SecretsCard } from './client_secrets.tsx'

/** Whether operators set the keys. The keys of a client with a metadata document come from the document. */
const hasOwnKeys = ({ token_endpoint_auth_method, registration_source }: ClientAnswer) =>
  token_endpoint_auth_method === 'private_key_jwt' && registration_source !== 'cimd'

/** The fields of a form. Keys and workload identities are only for clients that authenticate with them. */
const editable = (client: ClientAnswer) => [
  ...EDITABLE,
  ...(client.federated_credentials ? ['federated_credentials'] : []),
  ...(hasOwnKeys(client) ? ['jwks', 'jwks_uri'] : []),
  ...(client.document_source === 'stored' ? ['document'] : []),
]

const from = ['Clients', href(['clients'])] as const

/** One client. */
export function ClientDetail({ id: client_id }: { id: string }) {
  const path = `/admin/clients/${segment(client_id)}`
  return (
    <ItemPage<ClientWithSecrets> title="Client" path={path} from={from}>
      {(client) => (
        <>
          <PageHead
            title={
              <>
                <Name of={client.client_name} />{' '}
                <Badge tone={client.status === 'active' ? 'good' : 'bad'}>{client.status}</Badge>
                {client.agent && <Badge tone="accent">agent</Badge>}
              </>
            }
            from={from}
          >
            <Actions client={client} path={path} />
          </PageHead>
          <Caution of={client.warning} />
          <Caution of={staleText(client)} />
          <ActivityCard client_id={client_id} />
          <FailuresCard client={client} />
          <Card>
            <Facts of={factsOf(client)} />
          </Card>
          <SecretsCard client={client} path={path} />
          {client.registration_source === 'cimd' && <DocumentCard client={client} path={path} />}
          <History of={{ client_id }} version={client.updated_at} />
          <RelatedPages
            of={[
              ['Explain access', href(['try', 'explain'], { client_id })],
              ['Its tokens', href(['issuances'], { client_id })],
              ['How it connects', href(['connections'], { client_id })],
              ['Its audit events', href(['audit'], { client_id })],
            ]}
          />
        </>
      )}
    </ItemPage>
  )
}

/** Why the document cannot be used now. Undefined when all is well. */
const staleText = ({ document_error }: ClientAnswer) =>
  document_error ? `The last fetch of the metadata document failed: ${document_error}` : undefined

/** Where the document comes from, and when it was fetched. */
function Fetched({ of: { document_source, document_fetched_at } }: { of: ClientAnswer }) {
  return (
    <>
      {document_source === 'stored' ? 'kept by an operator, fetched ' : 'fetched '}
      <Time at={document_fetched_at} or="never" />
    </>
  )
}

/** The metadata document of a client. */
const DocumentCard = ({ client, path }: { client: ClientAnswer; path: string }) =>
  client.document_source === 'stored' ? <KeptCard path={path} /> : <FetchedCard path={path} />

/** A document that an operator keeps: it is replaced by the one at its URL when the operator requests it. */
function KeptCard({ path }: { path: string }) {
  const changed = useChanged()
  const [answer, setAnswer] = useState<RefreshedDocument>()
  const { error, run } = useWork()
  const refresh = (dry_run: boolean) =>
    run(async () => {
      setAnswer(await call<RefreshedDocument>('POST', `${path}/refresh-document`, { dry_run }))
      changed()
    })
  const { changed: members = [], dry_run } = answer ?? {}
  return (
    <Card
      title="Metadata document"
      aside={
        <>
          <OperationButton operation="client.refreshDocument" onClick={() => void refresh(true)}>
            Compare with its URL
          </OperationButton>
          <OperationButton operation="client.refreshDocument" onClick={() => void refresh(false)}>
            Replace with the one at its URL
          </OperationButton>
        </>
      }
    >
      <div class="body stack">
        <ProblemNote error={error} />
        {answer ? (
          <p class="note good" role="status">
            {members.length === 0
              ? 'The document at its URL is the same.'
              : `${dry_run ? 'These members differ' : 'These members changed'}: ${members.join(', ')}.`}
          </p>
        ) : (
          <p class="soft">An operator keeps the document. It is not fetched. Edit the client to replace it.</p>
        )}
      </div>
    </Card>
  )
}

/** The metadata document, fetched when the operator requests it. */
function FetchedCard({ path }: { path: string }) {
  const changed = useChanged()
  const [fetched, setFetched] = useState<FetchedDocument>()
  const { error, run } = useWork()
  const fetchNow = () =>
    run(async () => {
      setFetched(await call<FetchedDocument>('POST', `${path}/fetch-document`))
      changed()
    })
  return (
    <Card
      title="Metadata document"
      aside={
        <OperationButton operation="client.fetchDocument" onClick={() => void fetchNow()}>
          Fetch it now
        </OperationButton>
      }
    >
      <div class="body stack">
        <ProblemNote error={error} />
        {!fetched && !error && (
          <p class="soft">
            The client is shown as its document described it at the last fetch. Fetch it to see the present document.
          </p>
        )}
        {fetched && (
          <p class={fetched.problem ? 'note bad' : 'note good'} role="status">
            {fetched.problem ? sentence(fetched.problem) : 'The document is valid and in use.'}
          </p>
        )}
        {fetched?.document && <JsonText of={fetched.document} what="document" />}
      </div>
    </Card>
  )
}

type Credential = NonNullable<ClientAnswer['federated_credentials']>[number]
/** A credential as the command line takes it. */
const credentialLine = ({ claims = {}, ...members }: Credential): string =>
  [...Object.entries(members), ...Object.entries(claims).map(([name, value]) => [`claim.${name}`, value])]
    .map(([name, value]) => `${name}=${value}`)
    .join(',')

const methodsOf = (client: ClientAnswer) =>
  client.token_endpoint_auth_methods_supported ?? [client.token_endpoint_auth_method]
/** A key as its type and its kid. */
const keyText = ({ kty, crv, kid }: Record<string, unknown>) => [crv ?? kty, kid ?? 'without kid'].map(String).join(' ')

const factsOf = (client: ClientAnswer): readonly Fact[] => [
  ['client_id', <Copy key="id" text={client.client_id} what="client_id" />],
  ['Source', SOURCES[client.registration_source]],
  client.document_source && ['Document', <Fetched key="document" of={client} />],
  ['Grant types', <Lines key="grants" of={client.grant_types} />],
  ['Redirect URIs', <Lines key="uris" of={client.redirect_uris} />],
  client.post_logout_redirect_uris && ['After a logout', <Lines key="returns" of={client.post_logout_redirect_uris} />],
  client.backchannel_logout_uri !== undefined && [
    'Notified of logouts',
    <Mono key="logouts" of={client.backchannel_logout_uri} />,
  ],
  client.id_token_signed_response_alg && ['ID tokens', client.id_token_signed_response_alg],
  ['Scope', <Mono key="scope" of={client.scope} or="none of its own" />],
  client.default_resource !== undefined && ['Default resource', <Mono key="default" of={client.default_resource} />],
  client.limits && ['Limits', limitsText(client.limits)],
  ['Authentication', <Lines key="auth" of={methodsOf(client)} />],
  client.jwks !== undefined && ['Keys', <Lines key="keys" of={client.jwks.keys.map(keyText)} />],
  client.jwks_uri !== undefined && ['Keys', <Mono key="keys" of={client.jwks_uri} />],
  client.federated_credentials && [
    'Workload identities',
    <Lines key="workloads" of={client.federated_credentials.map(credentialLine)} />,
  ],
  ['Application type', client.application_type],
  ['DPoP', client.dpop_bound_access_tokens ? 'only bound tokens' : 'bound when the client sends a proof'],
  client.agent && ['Agent', client.agent_description || 'no description'],
  ['Created', <Time key="made" at={client.issued_at} />],
  ['Changed', <Time key="changed" at={client.updated_at} />],
  ['Last token', <Time key="used" at={client.last_used_at} or="none in the record" />],
]

function Actions({ client, path }: { client: ClientAnswer; path: string }) {
  const { client_id, client_name } = client
  const isActive = client.status === 'active'
  return (
    <>
      <EditButton
        title="Edit the client"
        operation="client.update"
        params={{ client_id }}
        stored={client}
        fields={editable(client)}
        options={{ grant_types: grantOptions('client') }}
      />
      <ConfirmButton
        operation={isActive ? 'client.suspend' : 'client.reactivate'}
        label={isActive ? 'Suspend' : 'Reactivate'}
        harmless={!isActive}
        title={isActive ? `Suspend ${client_name || 'this client'}?` : 'Reactivate the client?'}
        run={() => call('PATCH', `${path}/${isActive ? 'suspend' : 'reactivate'}`)}
      >
        {isActive
          ? 'It gets no new tokens and cannot refresh. Introspection reports its tokens as inactive at once; a resource server that only checks signatures accepts them until they expire. Reactivating undoes it.'
          : 'It may get tokens again.'}
      </ConfirmButton>
      <DeleteButton
        operation="client.delete"
        what={client_name || 'this client'}
        path={`${path}?force=true`}
        word={client_name || client_id}
        revokes={{ client_id }}
        onGone={() => go(from[1])}
      >
        The client, its consents, its sign-ins and its streams are deleted, it is removed from the policies of
        resources, and its tokens are revoked. The record of its tokens and the audit trail stay.
        <Restorable without="what was ended, and with the same secrets" />
      </DeleteButton>
    </>
  )
}
