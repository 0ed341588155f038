// Feeds: a feed prepares requests while nothing is measured, and hands them out during a measurement.
import type { LoadAnswer, LoadConnection } from './connection.ts'
import { type Login, newCodeForm, obtainToken, onAll, proofHeader, tokenIn, userTokens } from './obtain.ts'
import { assertionsOf, type BenchIdp, newProof, newProofKeys, type ProofKey } from './signer.ts'
import type { KeyedMachine } from './target.ts'

/** Forms are urlencoded, without the parameters that the feed adds. */
export type FeedPlan =
  /** The same requests in rotation; GET requests without forms. */
  | { kind: 'same'; path: string; forms: readonly string[]; expected: ExpectedAnswer }
  /** Redemptions of authorization codes. */
  | { kind: 'codes' }
  /** Rotations of refresh tokens, one token per connection; `bound` ones with a DPoP key of the connection. */
  | { kind: 'chains'; bound: boolean }
  /** Introspections or revocations (`form`) of tokens that `issueForm` issued. */
  | { kind: 'issued'; path: string; expected: ExpectedAnswer; owners: readonly { issueForm: string; form: string }[] }
  /** Forms in rotation, with DPoP proofs of `keys` keys. */
  | { kind: 'proofs'; forms: readonly string[]; keys: number }
  /** Exchanges of user tokens: `same` tokens in rotation, or each token once without it. */
  | { kind: 'exchanges'; form: string; same?: number }
  /** Assertions of an identity provider, with `subjects` subjects in rotation. */
  | { kind: 'assertions'; form: string; idp: BenchIdp; client_id: string; subjects: number }
  /** The form with an assertion of each client in rotation (private_key_jwt). */
  | { kind: 'client_assertions'; form: string; clients: readonly KeyedMachine[] }
  /** Sign-ins with a password. */
  | { kind: 'logins'; path: string; form: string }
  /** Several feeds, each with its share of the requests. */
  | { kind: 'mix'; parts: readonly { share: number; feed: FeedPlan }[] }

export interface Site {
  base: string
  login: Login
}

/** A prepared request. */
export interface Shot {
  path: string
  /** The body of a POST; a GET has none. */
  form?: string
  /** Further header lines. */
  more?: string
  expected: ExpectedAnswer
  /** Called with the body of an expected answer. */
  answered?(body: string): void
}

export interface Feed {
  /** Whether it never runs out of requests, so that no pauses are needed. */
  isEndless?: boolean
  /** Prepares about `count` requests and discards those left over. Not called during a measurement. */
  refill(count: number): Promise<void>
  /** The next request of a connection; undefined when none is ready. */
  next(connection: number): Shot | undefined
}

/** Expected answers. Other answers, such as refusals, count as errors. */
const EXPECTED = {
  token: { status: 200, body: /"access_token":"/ },
  bound: { status: 200, body: /"token_type":"DPoP"/ },
  active: { status: 200, body: /"active":true/ },
  pushed: { status: 201, body: /"request_uri":"/ },
  ok: { status: 200, body: /^/ },
  redirect: { status: 303, body: /^/ },
} as const
export type ExpectedAnswer = keyof typeof EXPECTED

/** Whether an answer is as expected. */
export const isExpected = (expected: ExpectedAnswer, { status, body }: LoadAnswer): boolean =>
  status === EXPECTED[expected].status && EXPECTED[expected].body.test(body)

type Opener<K extends FeedPlan['kind']> = (
  plan: Extract<FeedPlan, { kind: K }>,
  site: Site,
  connections: readonly LoadConnection[],
) => Feed

const OPENERS: { [K in FeedPlan['kind']]: Opener<K> } = {
  same: ({ path, forms, expected }) => {
    let sent = 0
    const shots: readonly Shot[] =
      forms.length > 0 ? forms.map((form) => ({ path, form, expected })) : [{ path, expected }]
    return { isEndless: true, refill: async () => {}, next: () => inTurn(shots, sent++) }
  },
  codes: (_plan, { login }, connections) =>
    pool((count) => onAll(connections, count, async (connection) => shot(login, await newCodeForm(login, connection)))),
  chains: ({ bound }, site, connections) => chains(site, connections, bound ? newProofKeys(connections.length) : []),
  issued: ({ path, expected, owners }, { login }, connections) => {
    let made = 0
    return pool((count) =>
      onAll(connections, count, async (connection) => {
        const { issueForm, form } = inTurn(owners, made++)
        const token = tokenIn(await obtainToken(connection, login.tokenPath, issueForm), 'access_token')
        return { path, expected, form: `${form}&token=${token}` }
      }),
    )
  },
  proofs: ({ forms, keys: count }, { base, login }) => {
    const keys = newProofKeys(count)
    let made = 0
    const next = () => {
      const proof = newProof(inTurn(keys, made), base + login.tokenPath)
      return shot(login, inTurn(forms, made++), { expected: 'bound', more: proofHeader(proof) })
    }
    return pool(async (count) => Array.from({ length: count }, next))
  },
  exchanges: ({ form, same }, { login }, connections) => {
    const tokens = userTokens(login, connections)
    const make = async (count: number) =>
      (await tokens(count)).map((token) => shot(login, `${form}&subject_token=${token}`))
    return same ? rotation(same, make) : pool(make)
  },
  assertions: ({ form, idp, client_id, subjects }, { base, login }) => {
    const assert = assertionsOf(idp, 'oauth-id-jag+jwt')
    let made = 0
    const next = () => {
      const claims = { iss: idp.issuer, sub: `employee-${made++ % subjects}`, aud: base, client_id }
      return shot(login, `${form}&assertion=${assert(claims)}`)
    }
    return pool(async (count) => Array.from({ length: count }, next))
  },
  client_assertions: ({ form, clients }, { base, login }) => {
    const signers = clients.map((client) => assertionsOf(client, 'client-authentication+jwt'))
    let made = 0
    const next = () => {
      const { client_id } = inTurn(clients, made)
      const claims = { iss: client_id, sub: client_id, aud: base }
      return shot(login, `${form}&client_assertion=${inTurn(signers, made++)(claims)}`)
    }
    return pool(async (count) => Array.from({ length: count }, next))
  },
  logins: ({ path, form }, _site, [connection]) =>
    rotation(1, async () => {
      // All tabs of a browser share the token of the form, so one page serves every sign-in.
      const page = await connection?.get(path)
      const cookie = /\r\nset-cookie: *([^;\r]+)/i.exec(page?.head ?? '')?.[1]
      const token = /name="csrf_token" value="([^"]+)"/.exec(page?.body ?? '')?.[1]
      if (!cookie || !token) throw new Error(`no sign-in form at ${path}: ${page?.status} ${page?.body.slice(0, 300)}`)
      return [{ path, form: `${form}&csrf_token=${token}`, more: `cookie: ${cookie}\r\n`, expected: 'redirect' }]
    }),
  mix: ({ parts }, site, connections) => {
    const feeds = parts.map(({ share, feed }) => ({ share, credit: 0, feed: openFeed(feed, site, connections) }))
    const all = feeds.reduce((sum, { share }) => sum + share, 0)
    return {
      refill: async (count) => {
        for (const { share, feed } of feeds) await feed.refill(Math.ceil((count * share * MIX_RESERVE) / all))
      },
      next(connection) {
        // Smooth weighted round robin: the shares hold over short times, and the order is the same in every run.
        for (const each of feeds) each.credit += each.share
        const chosen = feeds.reduce((best, each) => (each.credit > best.credit ? each : best))
        chosen.credit -= all
        return chosen.feed.next(connection)
      },
    }
  },
}
const MIX_RESERVE = 1.1

/** Opens a feed of a server. */
export const openFeed = <K extends FeedPlan['kind']>(
  plan: Extract<FeedPlan, { kind: K }>,
  site: Site,
  connections: readonly LoadConnection[],
): Feed => (OPENERS[plan.kind as K] as Opener<K>)(plan, site, connections)

const inTurn = <T>(list: readonly T[], number: number): T => list[number % list.length] as T

const shot = ({ tokenPath }: Login, form: string, more: Partial<Shot> = {}): Shot => ({
  path: tokenPath,
  form,
  expected: 'token',
  ...more,
})

type Make = (count: number) => Promise<Shot[]>

/** A feed whose requests are sent once, by the next free connection. */
function pool(make: Make): Feed {
  let ready: Shot[] = []
  return {
    async refill(count) {
      ready = await make(count)
    },
    next: () => ready.pop(),
  }
}

/** A feed of the same requests in rotation. */
function rotation(size: number, make: Make): Feed {
  let ready: Shot[] = []
  let sent = 0
  return {
    isEndless: true,
    async refill() {
      if (ready.length === 0) ready = await make(size)
    },
    next: () => inTurn(ready, sent++),
  }
}

/** A feed of one chain per connection: each request sends the token of the last answer. */
function chains({ base, login }: Site, connections: readonly LoadConnection[], keys: readonly ProofKey[]): Feed {
  const list = connections.map((connection, number) => {
    const key = keys[number]
    const prove = key && (() => newProof(key, base + login.tokenPath))
    return { connection, prove, token: '', proofs: [] as string[] }
  })
  return {
    async refill(count) {
      // A broken chain starts with a new code.
      const broken = list.filter(({ token }) => token === '')
      await Promise.all(
        broken.map(async (chain) => {
          const form = await newCodeForm(login, chain.connection)
          chain.token = tokenIn(
            await obtainToken(chain.connection, login.tokenPath, form, chain.prove?.()),
            'refresh_token',
          )
        }),
      )
      const share = Math.ceil(count / list.length)
      for (const chain of list) if (chain.prove) chain.proofs = Array.from({ length: share }, chain.prove)
    },
    next(number) {
      const chain = inTurn(list, number)
      const { token, prove } = chain
      const proof = chain.proofs.pop()
      if (token === '' || (prove && !proof)) return undefined
      chain.token = ''
      return shot(login, `${login.refreshForm}&refresh_token=${token}`, {
        ...(proof ? { more: proofHeader(proof), expected: 'bound' as const } : {}),
        answered: (body) => {
          chain.token = tokenIn(body, 'refresh_token')
        },
      })
    },
  }
}
