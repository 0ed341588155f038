// What a load is made of. A feed makes requests ready while nothing is measured, and hands them out while it is.
import type { LoadAnswer, LoadConnection } from './connection.ts'
import { type Login, newCodeForm, obtainToken, onAll, proofHeader, tokenIn, userTokens } from './obtain.ts'
import { assertionsOf, type BenchIdp, newProof, newProofKeys, type ProofKey } from './signer.ts'

/** Forms are urlencoded, and lack what the feed adds to them. */
export type FeedPlan =
  /** The same requests in rotation; without forms they are GETs. */
  | { kind: 'same'; path: string; forms: readonly string[]; expected: ExpectedAnswer }
  /** Codes that are redeemed. */
  | { kind: 'codes' }
  /** Refresh tokens that are rotated, each connection its own; `bound` ones with a DPoP key of the connection. */
  | { kind: 'chains'; bound: boolean }
  /** Tokens, issued by one form and asked about or revoked by the other. */
  | { kind: 'issued'; path: string; expected: ExpectedAnswer; owners: readonly { issueForm: string; form: string }[] }
  /** Forms in rotation with DPoP proofs of so many keys. */
  | { kind: 'proofs'; forms: readonly string[]; keys: number }
  /** Tokens of the user that are exchanged: as many as `same` says in rotation, else each once. */
  | { kind: 'exchanges'; form: string; same?: number }
  /** Assertions of an identity provider about so many subjects in rotation. */
  | { kind: 'assertions'; form: string; idp: BenchIdp; client_id: string; subjects: number }
  /** Sign-ins with a password. */
  | { kind: 'logins'; path: string; form: string }
  /** Several feeds, each with its share of the requests. */
  | { kind: 'mix'; parts: readonly { share: number; feed: FeedPlan }[] }

export interface Site {
  base: string
  login: Login
}

/** A request that is ready to be sent. */
export interface Shot {
  path: string
  /** The body of a POST; a GET has none. */
  form?: string
  /** Further header lines. */
  more?: string
  expected: ExpectedAnswer
  /** Sees the answer when it is as expected. */
  answered?(body: string): void
}

export interface Feed {
  /** It never runs out, so that it needs no breaks. */
  isEndless?: boolean
  /** Makes about `count` requests ready; what is left of the last ones is forgotten. Nothing is measured meanwhile. */
  refill(count: number): Promise<void>
  /** The next request of a connection; undefined when none is ready. */
  next(connection: number): Shot | undefined
}

/** What an answer that is worth counting looks like: nobody measures refusals. */
const EXPECTED = {
  token: { status: 200, body: /"access_token":"/ },
  bound: { status: 200, body: /"token_type":"DPoP"/ },
  active: { status: 200, body: /"active":true/ },
  ok: { status: 200, body: /^/ },
  redirect: { status: 303, body: /^/ },
} as const
export type ExpectedAnswer = keyof typeof EXPECTED

/** Whether an answer is worth counting. */
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
    const assert = assertionsOf(idp)
    let made = 0
    const next = () => shot(login, `${form}&assertion=${assert(`employee-${made++ % subjects}`, client_id, base)}`)
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
        // Smooth weighted round robin: shares hold over any short time, and in the same order in every run.
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

/** Each request is sent once, by whichever connection is free. */
function pool(make: Make): Feed {
  let ready: Shot[] = []
  return {
    async refill(count) {
      ready = await make(count)
    },
    next: () => ready.pop(),
  }
}

/** The same requests in rotation. */
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

/** Each connection keeps a chain: the token of an answer is what its next request sends. */
function chains({ base, login }: Site, connections: readonly LoadConnection[], keys: readonly ProofKey[]): Feed {
  const list = connections.map((connection, number) => {
    const key = keys[number]
    const prove = key && (() => newProof(key, base + login.tokenPath))
    return { connection, prove, token: '', proofs: [] as string[] }
  })
  return {
    async refill(count) {
      // A chain that broke starts anew.
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
