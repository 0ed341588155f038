// What can be measured: a list. A work says what a server is sent; everything else about a run is the same for all of them.
import type { FeedPlan, Site } from '../load/feeds.ts'
import { callLoopback } from '../load/loopback.ts'
import { JWT_BEARER, mapAtOnce, TOKEN_EXCHANGE } from '../load/register.ts'
import type { BenchTarget, Gateway, Machine } from '../load/target.ts'

export interface WorkLoad extends Site {
  feed: FeedPlan
  /** Sent before the measurement in place of the feed, so that what it sends is new to the server. */
  warmup?: FeedPlan
}

export interface Work {
  name: string
  /** Measured with 20,000 clients that the server has not seen since it was started. */
  cold?: boolean
  /** What to send to a server; undefined where it has no such thing. Asks once, and throws unless the answer is right. */
  load(target: BenchTarget): Promise<FeedPlan | undefined>
}

const TOKENS_PER_CLIENT = 10
/** DPoP keys in rotation. */
const PROOF_KEYS = 2000
/** Subjects of assertions in rotation, and subject tokens that are exchanged again and again. */
const SUBJECTS = 1000
const ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token'

/** An urlencoded form without the fields that are undefined. */
const form = (fields: Record<string, string | undefined>) =>
  new URLSearchParams(
    Object.entries(fields).filter((each): each is [string, string] => each[1] !== undefined),
  ).toString()

const machineForm = (machine: Machine, { scope }: BenchTarget, resource: string | undefined) =>
  form({ grant_type: 'client_credentials', ...machine, scope, resource })

/** POSTs a form outside of any measurement. Throws unless the answer is as `right` wants it: nobody measures refusals. */
async function ask(url: string, body: string, right: (answer: Record<string, unknown>) => boolean) {
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  const response = await callLoopback(url, { method: 'POST', headers, body })
  const text = await response.text()
  const answer = (response.status === 200 ? JSON.parse(text) : {}) as Record<string, unknown>
  if (!right(answer)) throw new Error(`POST ${url} answered ${response.status} ${text.slice(0, 500)}`)
  return answer
}
const hasToken = (answer: Record<string, unknown>) => typeof answer['access_token'] === 'string'

const clientCredentials =
  (machinesOf: (target: BenchTarget) => readonly Machine[]): Work['load'] =>
  async (target) => {
    const forms = machinesOf(target).map((machine) => machineForm(machine, target, target.resource))
    const [first] = target.machines
    if (forms.length === 0 || !first) return undefined
    await ask(target.base + target.paths.token, machineForm(first, target, target.resource), hasToken)
    return { kind: 'same', path: target.paths.token, forms, expected: 'token' }
  }

const sameIntrospections: Work['load'] = async (target) => {
  const { base, paths, introspectedResource: resource } = target
  const path = paths.introspection
  if (!path) return undefined
  const owners = target.machines.flatMap((machine) => Array.from({ length: TOKENS_PER_CLIENT }, () => machine))
  const forms = await mapAtOnce(owners, async (machine) => {
    const issued = await ask(base + paths.token, machineForm(machine, target, resource), hasToken)
    return form({ ...machine, token: String(issued['access_token']) })
  })
  await ask(base + path, forms[0] as string, ({ active }) => active === true)
  return { kind: 'same', path, forms, expected: 'active' }
}

const issued =
  (path: 'introspection' | 'revocation', expected: 'active' | 'ok'): Work['load'] =>
  async (target) => {
    const to = target.paths[path]
    if (!to) return undefined
    const owners = target.machines.map((machine) => ({
      issueForm: machineForm(machine, target, target.introspectedResource),
      form: form({ ...machine }),
    }))
    return { kind: 'issued', path: to, expected, owners }
  }

const proofs: Work['load'] = async (target) =>
  target.signedIn && {
    kind: 'proofs',
    forms: target.machines.map((machine) => machineForm(machine, target, target.resource)),
    keys: PROOF_KEYS,
  }

const ofGateway =
  (feedOf: (gateway: Gateway, target: BenchTarget) => FeedPlan): Work['load'] =>
  async (target) =>
    target.gateway && feedOf(target.gateway, target)

const exchanges = (same?: number): Work['load'] =>
  ofGateway(({ machine, resource }, { scope }) => ({
    kind: 'exchanges',
    form: form({ grant_type: TOKEN_EXCHANGE, ...machine, subject_token_type: ACCESS_TOKEN, scope, resource }),
    same,
  }))

const assertions = ofGateway(({ machine, idp }, { scope, resource }) => ({
  kind: 'assertions',
  form: form({ grant_type: JWT_BEARER, ...machine, scope, resource }),
  idp,
  client_id: machine.client_id,
  subjects: SUBJECTS,
}))

const logins: Work['load'] = async ({ paths, user }) =>
  paths.login && user ? { kind: 'logins', path: paths.login, form: form({ ...user, redirect: '/' }) } : undefined

const metadata: Work['load'] = async ({ paths }) =>
  paths.metadata ? { kind: 'same', path: paths.metadata, forms: [], expected: 'ok' } : undefined

const signedIn =
  (feed: FeedPlan): Work['load'] =>
  async (target) =>
    target.signedIn && feed

const machineTokens: Work = { name: 'client_credentials', load: clientCredentials(({ machines }) => machines) }

export const works: readonly Work[] = [
  machineTokens,
  { name: 'client_credentials, cold', cold: true, load: clientCredentials((target) => target.coldMachines) },
  { name: 'authorization_code', load: signedIn({ kind: 'codes' }) },
  { name: 'refresh_token', load: signedIn({ kind: 'chains', bound: false }) },
  { name: 'dpop, client_credentials', load: proofs },
  { name: 'dpop, refresh_token', load: signedIn({ kind: 'chains', bound: true }) },
  { name: 'exchange, new tokens', load: exchanges() },
  { name: 'exchange, same tokens', load: exchanges(SUBJECTS) },
  { name: 'xaa', load: assertions },
  { name: 'introspection, new tokens', load: issued('introspection', 'active') },
  { name: 'introspection, same tokens', load: sameIntrospections },
  { name: 'revocation', load: issued('revocation', 'ok') },
  { name: 'metadata', load: metadata },
  { name: 'login', load: logins },
]

/** What a work is called on the command line: its name before the comma. */
const subject = ({ name }: Work) => name.split(',')[0] as string
export const subjects: readonly string[] = [...new Set(works.map(subject))]

/** The works that a scenario of the command line names: `token` is all of them, else those of an endpoint or grant. */
export const worksOf = (scenario: string, cold: boolean): readonly Work[] =>
  works.filter(
    (work) => (cold || !work.cold) && (scenario === 'token' || subject(work) === scenario || work.name === scenario),
  )

/** Parts of a mix: a subject stands for its first work. */
export type Mix = readonly { work: Work; share: number }[]

/** Reads `client_credentials=80,refresh_token=15,exchange=5`. Throws for what is no work. */
export function parseMix(text: string): Mix {
  return text.split(',').map((part) => {
    const [, name = '', share] = /^\s*([a-z_]+)\s*=\s*(\d+(?:\.\d+)?)\s*$/.exec(part) ?? []
    const work = works.find((each) => subject(each) === (SHORT[name] ?? name))
    if (!work || !share || Number(share) <= 0)
      throw new Error(
        `--mix is written ${subjects.slice(0, 2).join('=80,')}=20; there are ${subjects.join(', ')}; not ${part}`,
      )
    return { work, share: Number(share) }
  })
}
const SHORT: Readonly<Record<string, string>> = {
  refresh: 'refresh_token',
  code: 'authorization_code',
  introspect: 'introspection',
  revoke: 'revocation',
  id_jag: 'xaa',
  jwt_bearer: 'xaa',
  token_exchange: 'exchange',
}

/** What the shares of a mix add up to. */
export const sumOf = (mix: Mix): number => mix.reduce((sum, { share }) => sum + share, 0)

/** A work that does several, each with its share of the requests. */
export const mixOf = (mix: Mix): Work => ({
  name: `mix ${mix.map(({ work, share }) => `${subject(work)}=${share}`).join(',')}`,
  async load(target) {
    const parts = await Promise.all(mix.map(async ({ work, share }) => ({ share, feed: await work.load(target) })))
    const feeds = parts.flatMap(({ share, feed }) => (feed ? [{ share, feed }] : []))
    return feeds.length === parts.length ? { kind: 'mix', parts: feeds } : undefined
  },
})

/** All that the load generator needs for a work at a server, or undefined where it has no such thing. */
export async function loadOf(work: Work, target: BenchTarget): Promise<WorkLoad | undefined> {
  const feed = await (target.isYardstick ? machineTokens : work).load(target)
  if (!feed) return undefined
  const { base, paths, signedIn, resource } = target
  const { app, authorizePath = '', cookie = '', verifier } = signedIn ?? {}
  return {
    base,
    feed,
    warmup: work.cold ? await machineTokens.load(target) : undefined,
    login: {
      authorizePath,
      cookie,
      tokenPath: paths.token,
      codeForm: form({ grant_type: 'authorization_code', ...app, resource, code_verifier: verifier }),
      refreshForm: form({ grant_type: 'refresh_token', client_id: app?.client_id, resource }),
    },
  }
}
