// What one search finds: the records, each with the way to its page and to its history; a pasted token, decoded in the browser.
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { quantity } from '../lib/format.ts'
import { hold, takeHeld } from '../lib/held.ts'
import { useGet } from '../lib/load.ts'
import type { Pasted } from '../lib/pasted.ts'
import { go, href, type Location } from '../lib/router.ts'
import type { FindAnswer } from '../lib/types.ts'
import { Badge, Card, Empty, JsonText, Name, PageHead, ProblemNote, Time, type Way, Ways } from '../parts/text.tsx'

type Match = FindAnswer['matches'][number]
/** How a match is shown. */
interface Shown {
  name: ComponentChildren
  about: ComponentChildren
  /** Its page first, then its history. */
  ways: readonly Way[]
}

/** The page of the search. */
export function SearchPage({ place: { query } }: { place: Location }) {
  const [pasted] = useState(takeHeld)
  const asked = pasted?.kind === 'token' ? pasted.jti : pasted ? undefined : query['q']
  return (
    <div class="stack">
      <PageHead
        title="Search"
        about="Clients, users, servers, providers, tokens, keys, addresses and requests, and what was deleted."
      />
      {pasted && <PastedCard of={pasted} />}
      {asked ? <Matches text={asked} isPasted={pasted !== undefined} /> : !pasted && <HowTo />}
    </div>
  )
}

const HowTo = () => (
  <div class="card">
    <Empty title="Search for anything that a caller or a log has">
      <p>
        The id of a request, the jti of a token or the token itself, an email, a client_id or a name, a slug, an IP
        address, the kid of a key. A pasted token is decoded in this browser and sent nowhere. It is not kept.
      </p>
    </Empty>
  </div>
)

function PastedCard({ of }: { of: Pasted }) {
  const leaked = () => {
    hold(of)
    go(href(['incidents', 'token'], of.kind === 'token' ? { subject: 'token', id: of.jti } : {}))
  }
  const isKnown = of.kind === 'token' && of.jti !== undefined
  return (
    <Card
      title={of.kind === 'token' ? 'The pasted token, decoded in this browser' : 'The pasted value'}
      aside={
        <button type="button" disabled={of.kind === 'token' && !isKnown} onClick={leaked}>
          It leaked…
        </button>
      }
    >
      <div class="body stack">
        {of.kind === 'secret' && (
          <p>
            It looks like {of.what}. It was sent nowhere. <b>It leaked…</b> looks up what it belongs to.
          </p>
        )}
        {of.kind === 'token' && <JsonText of={of.claims} what="claims" />}
        {of.kind === 'token' && <JsonText of={of.header} what="header" />}
      </div>
    </Card>
  )
}

function Matches({ text, isPasted }: { text: string; isPasted: boolean }) {
  const { data, error } = useGet<FindAnswer>('/admin/find', { query: text })
  if (error) return <ProblemNote error={error} />
  if (!data) return <p role="status">Searching…</p>
  const { matches } = data
  if (matches.length === 0)
    return (
      <div class="card">
        <Empty title="Nothing was found">
          <p>
            {isPasted
              ? 'This server has no record of the token: another server made it, or its record was purged.'
              : `Nothing here is called ${text}. Requests are known for as long as the audit trail has events of them.`}
          </p>
          <p>
            <a href={href(['audit'], { q: text, range: '30d' })}>Look for it in the audit trail of 30 days</a>
          </p>
        </Empty>
      </div>
    )
  return (
    <Card title={quantity(matches.length, 'match', 'matches')}>
      <ul class="matches" aria-label="Matches">
        {matches.map((match, i) => (
          <MatchRow key={`${match.kind} ${i}`} of={match} />
        ))}
      </ul>
    </Card>
  )
}

function MatchRow({ of }: { of: Match }) {
  const { name, about, ways } = shownOf(of)
  const [[, address] = ['', ''], ...others] = ways
  return (
    <li>
      <div>
        <Badge>{of.kind}</Badge> <a href={address}>{name}</a>
        <div class="soft small">{about}</div>
      </div>
      <div class="actions">
        <Ways of={others} />
      </div>
    </li>
  )
}

const HISTORY = 'Its history'
const EXPLAIN = 'Explain access'
const history = (about: string): Way => [HISTORY, href(['audit'], { about, range: '30d' })]

function shownOf(match: Match): Shown {
  switch (match.kind) {
    case 'client':
      return {
        name: <Name of={match.client_name} or={match.client_id} />,
        about: `${match.client_id} · ${match.status}`,
        ways: [
          ['Open', href(['clients', match.client_id])],
          ['What it did', href(['connections'], { client_id: match.client_id })],
          [EXPLAIN, href(['try', 'explain'], { client_id: match.client_id })],
          [HISTORY, href(['audit'], { client_id: match.client_id, range: '30d' })],
        ],
      }
    case 'user':
      return {
        name: <Name of={match.email} or={match.id} />,
        about: `${match.id} · ${match.status}`,
        ways: [
          ['Open', href(['users', match.id])],
          [EXPLAIN, href(['try', 'explain'], { user: match.email || match.id })],
          ['Tokens', href(['issuances'], { user_id: match.id })],
          history(match.id),
        ],
      }
    case 'resource':
      return {
        name: <Name of={match.display_name} or={match.slug} />,
        about: `${match.slug} · ${match.uri ?? ''}`,
        ways: [
          ['Open', href(['resources', match.slug])],
          [EXPLAIN, href(['try', 'explain'], { resource: match.uri || match.slug })],
          ['Tokens', href(['issuances'], { resource: match.slug })],
          history(match.id),
        ],
      }
    case 'deleted':
      return {
        name: <Name of={match.label} or={match.name} />,
        about: (
          <>
            {match.what} {match.name} · deleted <Time at={match.deleted_at} />
          </>
        ),
        ways: [
          ['Open', href(['deleted'], { kind: match.what, q: match.name })],
          match.what === 'client'
            ? [HISTORY, href(['audit'], { client_id: match.name, range: '30d' })]
            : history(match.name),
        ],
      }
    case 'provider':
      return { name: match.slug, about: match.protocol, ways: [['Open', href(['providers'])], history(match.id)] }
    case 'token':
      return {
        name: <code>{match.jti}</code>,
        about: (
          <>
            {match.grant_type} of {match.client_id} <Time at={match.issued_at} />
          </>
        ),
        ways: [
          ['Open', href(['issuances', match.id])],
          ['It leaked…', href(['incidents', 'token'], { subject: 'token', id: match.id })],
          history(match.id),
        ],
      }
    case 'key':
      return {
        name: <code>{match.kid}</code>,
        about: `${match.alg} · ${match.status}`,
        ways: [
          ['Open', href(['keys'])],
          ['It leaked…', href(['incidents', 'key'], { subject: 'key', id: match.kid })],
          history(match.kid),
        ],
      }
    case 'address':
      return {
        name: <code>{match.address}</code>,
        about: `${quantity(match.events.length, 'event')}, ${quantity(match.activity.length, 'caller')}${match.lockout ? ', locked out' : ''}`,
        ways: [
          ['Open', href(['connections'], { address: match.address })],
          ...(match.lockout ? [['Lockouts', href(['lockouts'])] as const] : []),
          [HISTORY, href(['audit'], { address: match.address, range: '30d' })],
        ],
      }
    case 'request':
      return {
        name: <code>{match.request_id}</code>,
        about: `${quantity(match.events.length, 'event')}, ${quantity(match.activity.length, 'caller')}`,
        ways: [
          ['Open', href(['audit'], { request_id: match.request_id })],
          ...match.activity
            .slice(0, 1)
            .map(({ client_id }) => ['What the client did', href(['connections'], { client_id })] as const),
        ],
      }
  }
}
