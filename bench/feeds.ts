// What the closed loop sends. A feed makes requests ready while nothing is measured, and hands them out while it is.
import type { Connection } from './connection.ts'
import { issue, type Login, newCodeForm, onAll, tokenIn, userTokens } from './obtain.ts'
import { assertionsOf, type Idp, newProof, newProofKeys, type ProofKey } from './signer.ts'

/** Forms are urlencoded, and lack what the feed adds to them. */
export type FeedPlan =
  /** Codes that are redeemed. */
  | { kind: 'codes' }
  /** Refresh tokens that are rotated, each connection its own; `bound` ones with a DPoP key of the connection. */
  | { kind: 'chains'; bound: boolean }
  /** Tokens, issued by one form and introspected by the other. */
  | { kind: 'introspections'; path: string; owners: readonly { issueForm: string; introspectForm: string }[] }
  /** Forms in rotation with DPoP proofs of so many keys. */
  | { kind: 'proofs'; forms: readonly string[]; keys: number }
  /** Tokens of the user that are exchanged: as many as `same` says in rotation, else each once. */
  | { kind: 'exchanges'; form: string; same?: number }
  /** Assertions of an identity provider about so many subjects in rotation. */
  | { kind: 'assertions'; form: string; idp: Idp; client_id: string; subjects: number }

export interface Site {
  base: string
  login: Login
}
interface Prepared {
  form: string
  /** DPoP proof. */
  proof?: string
}
export interface Feed {
  /** Where its requests go. */
  path: string
  /** What an answer that is worth counting holds. */
  expected: RegExp
  /** Makes about `count` requests ready; what is left of the last ones is forgotten. Nothing is measured meanwhile. */
  refill(count: number): Promise<void>
  /** The next request of a connection; undefined when none is ready. */
  next(connection: number): Prepared | undefined
  /** Sees the expected answers. */
  answered?(connection: number, body: string): void
}

const TOKEN = /"access_token":"/
const BOUND_TOKEN = /"token_type":"DPoP"/
const ACTIVE = /"active":true/

/** Opens a feed of a server. */
export function openFeed(plan: FeedPlan, { base, login }: Site, connections: readonly Connection[]): Feed {
  const path = login.tokenPath
  const htu = base + path
  let made = 0
  switch (plan.kind) {
    case 'codes':
      return {
        path,
        expected: TOKEN,
        ...pool((count) => onAll(connections, count, async (connection) => newCodeForm(login, connection))),
      }
    case 'chains':
      return chains(login, connections, htu, plan.bound ? newProofKeys(connections.length) : [])
    case 'introspections':
      return {
        path: plan.path,
        expected: ACTIVE,
        ...pool((count) =>
          onAll(connections, count, async (connection) => {
            const { issueForm, introspectForm } = inTurn(plan.owners, made++)
            return `${introspectForm}&token=${tokenIn(await issue(connection, path, issueForm), 'access_token')}`
          }),
        ),
      }
    case 'proofs': {
      const keys = newProofKeys(plan.keys)
      const next = (): Prepared => {
        const number = made++
        return { form: inTurn(plan.forms, number), proof: newProof(inTurn(keys, number), htu) }
      }
      return { path, expected: BOUND_TOKEN, ...pool(async (count) => Array.from({ length: count }, next)) }
    }
    case 'exchanges': {
      const tokens = userTokens(login, connections)
      const forms = async (count: number) => (await tokens(count)).map((token) => `${plan.form}&subject_token=${token}`)
      return { path, expected: TOKEN, ...(plan.same ? rotation(plan.same, forms) : pool(forms)) }
    }
    case 'assertions': {
      const assert = assertionsOf(plan.idp)
      const next = () => `${plan.form}&assertion=${assert(`employee-${made++ % plan.subjects}`, plan.client_id, base)}`
      return { path, expected: TOKEN, ...pool(async (count) => Array.from({ length: count }, next)) }
    }
  }
}

const inTurn = <T>(list: readonly T[], number: number): T => list[number % list.length] as T

type Supply = Pick<Feed, 'refill' | 'next'>
type Make = (count: number) => Promise<readonly (string | Prepared)[]>
const prepared = (form: string | Prepared): Prepared => (typeof form === 'string' ? { form } : form)

/** Each request is sent once, by whichever connection is free. */
function pool(make: Make): Supply {
  let ready: Prepared[] = []
  return {
    async refill(count) {
      ready = (await make(count)).map(prepared)
    },
    next: () => ready.pop(),
  }
}

/** The same requests in rotation. */
function rotation(size: number, make: Make): Supply {
  let ready: Prepared[] = []
  let sent = 0
  return {
    async refill() {
      if (ready.length === 0) ready = (await make(size)).map(prepared)
    },
    next: () => inTurn(ready, sent++),
  }
}

/** Each connection keeps a chain: the token of an answer is what its next request sends. */
function chains(login: Login, connections: readonly Connection[], htu: string, keys: readonly ProofKey[]): Feed {
  const list = connections.map((connection, number) => {
    const key = keys[number]
    return { connection, prove: key && (() => newProof(key, htu)), token: '', proofs: [] as string[] }
  })
  return {
    path: login.tokenPath,
    expected: keys.length > 0 ? BOUND_TOKEN : TOKEN,
    async refill(count) {
      // A chain that broke starts anew.
      const broken = list.filter(({ token }) => token === '')
      await Promise.all(
        broken.map(async (chain) => {
          const form = await newCodeForm(login, chain.connection)
          chain.token = tokenIn(await issue(chain.connection, login.tokenPath, form, chain.prove?.()), 'refresh_token')
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
      return { form: `${login.refreshForm}&refresh_token=${token}`, proof }
    },
    answered(number, body) {
      inTurn(list, number).token = tokenIn(body, 'refresh_token')
    },
  }
}
