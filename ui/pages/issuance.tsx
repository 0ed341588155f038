// One issued token: its claims, the actors, and whether it is still valid.
import { call, segment } from '../lib/api.ts'
import { href } from '../lib/router.ts'
import type { IssuanceDetail as Detail } from '../lib/types.ts'
import { ConfirmButton } from '../parts/dialog.tsx'
import { ItemPage } from '../parts/entity.tsx'
import { NamedId, useNames } from '../parts/named_id.tsx'
import { Badge, Card, Copy, Facts, JsonText, Mono, PageHead, Time } from '../parts/text.tsx'

const from = ['Issuances', href(['issuances'])] as const

/** One issued token. */
export function IssuancePage({ id }: { id: string }) {
  const path = `/admin/issuances/${segment(id)}`
  return (
    <ItemPage<Detail> title="Issued token" path={path} from={from}>
      {(token) => (
        <>
          <TokenHead token={token} path={path} />
          <Card title="Who acts for whom">
            <div class="body">
              <Chain token={token} />
            </div>
          </Card>
          <TokenFacts token={token} />
          {token.claims && (
            <Card title="Claims">
              <div class="body">
                <JsonText of={token.claims} what="claims" />
              </div>
            </Card>
          )}
        </>
      )}
    </ItemPage>
  )
}

const TokenHead = ({ token, path }: { token: Detail; path: string }) => (
  <PageHead
    from={from}
    title={
      <>
        Token of <code>{token.client_id}</code> <StateBadge of={token} />
      </>
    }
  >
    {token.active && (
      <ConfirmButton
        operation="issuance.revoke"
        label="Revoke"
        title="Revoke this token?"
        run={() => call('DELETE', path)}
        said="The token is revoked."
      >
        Introspection reports it, and every token that was exchanged from it, as inactive at once. A resource server
        that only checks signatures accepts it until it expires.{' '}
        {token.parent_jti && 'It was issued by an exchange; its subject token stays valid.'}
      </ConfirmButton>
    )}
  </PageHead>
)

/** The state of a token of a provider is not known. */
function StateBadge({ of: { active, revoked_at } }: { of: Detail }) {
  if (active === undefined) return <Badge>of a provider</Badge>
  return <Badge tone={active ? 'good' : 'bad'}>{active ? 'active' : revoked_at ? 'revoked' : 'not active'}</Badge>
}

const TokenFacts = ({ token }: { token: Detail }) => (
  <Card>
    <Facts
      of={[
        ['jti', <Copy key="id" text={token.id} what="jti" />],
        ['Grant', token.grant_type.replaceAll('_', ' ')],
        ['Resource', <Mono key="resource" of={token.resource} />],
        ['Scope', <Mono key="scope" of={token.scope} />],
        ['Bound', token.jkt ? <Copy key="jkt" text={token.jkt} what="thumbprint" /> : 'no: every holder can use it'],
        ['Issued', <Time key="at" at={token.issued_at} />],
        ['Expires', <Time key="exp" at={token.expires_at} />],
        token.revoked_at !== undefined && ['Revoked', <Time key="rev" at={token.revoked_at} />],
        token.parent_jti !== undefined && [
          'Exchanged from',
          <NamedId key="parent" page="issuances" id={token.parent_jti} />,
        ],
        ['Signed with', <code key="kid">{token.kid}</code>],
        ['Requested from', <code key="ip">{token.ip}</code>],
      ]}
    />
  </Card>
)

/** The actors as a list: first the subject, then the actors, the first one first. The client of the token is the last. */
function Chain({ token }: { token: Detail }) {
  const actors: string[] = []
  for (let at = token.act; at; at = at.act) actors.unshift(at.sub)
  if ((actors.at(-1) ?? token.sub) !== token.client_id) actors.push(token.client_id)
  const ids = [token.sub, ...actors]
  useNames(ids)
  const isUser = token.subject_user_id !== undefined
  return (
    <ol class="chain" aria-label="Delegation chain">
      <li>
        <div>
          <small>{isUser ? 'user' : token.sub === token.client_id ? 'machine, for itself' : 'subject'}</small>
          <NamedId page={isUser ? 'users' : 'clients'} id={token.sub} />
        </div>
      </li>
      {actors.map((sub, i) => (
        <li key={`${i}${sub}`}>
          <div>
            <small>{i === actors.length - 1 ? 'acts now' : 'acted before'}</small>
            <NamedId page="clients" id={sub} />
          </div>
        </li>
      ))}
      <li>
        <div>
          <small>may use</small>
          {token.resource ? (
            <a href={href(['search'], { q: token.resource })}>
              <code>{token.resource}</code>
            </a>
          ) : (
            <span class="soft">any resource</span>
          )}
        </div>
      </li>
    </ol>
  )
}
