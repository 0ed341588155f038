// The list of workloads. A workload defines the requests; everything else of a run is the same for all workloads.

import { JWT_BEARER_ASSERTION } from '../../src/oauth/clients/assertion_kind.ts'
import type { FeedPlan, Site } from '../load/feeds.ts'
import { callLoopback } from '../load/loopback.ts'
import { JWT_BEARER, mapAtOnce, TOKEN_EXCHANGE } from '../load/register.ts'
import { authorizeQuery, type BenchTarget, type Gateway, type Machine, REDIRECT_URI } from '../load/target.ts'

export interface WorkLoad extends Site {
  feed: FeedPlan
  /** Load of the warm-up in place of the feed, so that the requests of the feed are new to the server. */
  warmup?: FeedPlan
}

export interface Work {
  name: string
  /** Measured with 20,000 clients that the server has not seen since its start. */
  cold?: boolean
  /** The requests for a server; undefined when it does not support them. Sends one request and throws unless the answer is correct. */
  load(target: BenchTarget): Promise<FeedPlan | undefined>
}

const TOKENS_PER_CLIENT = 10
/** DPoP keys in rotation. */
const PROOF_KEYS = 2000
/** Number of subjects of assertions, and of subject tokens, in rotation. */
const SUBJECTS = 1000
const ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token'

/** A urlencoded form. Undefined fields are omitted. */
const form = (fields: Record<string, string | undefined>) =>
  new URLSearchParams(
    Object.entries(fields).filter((each): each is [string, string] => each[1] !== undefined),
  ).toString()

const machineForm = (machine: Machine, { scope }: BenchTarget, resource: string | undefined) =>
  form({ grant_type: 'client_credentials', ...machine, scope, resource })

/** POSTs a form outside of measurements. Throws unless `right` accepts the answer, so that refusals are not measured. */
async function ask(url: string, body: string, right: (answer: Record<string, unknown>) => boolean) {
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  const response = await callLoopback(url, { method: 'POST', headers, body })
  const text = await response.text()
  const answer = (response.status < 300 ? JSON.parse(text) : {}) as Record<string, unknown>
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

/** Authorization requests that clients push (RFC 9126). No browser opens them. */
const pushes: Work['load'] = async ({ base, paths: { par: path }, machines, resource = '' }) => {
  const forms = machines.map(
    ({ client_id, client_secret }) =>
      `${authorizeQuery({ client_id, redirect_uri: REDIRECT_URI }, resource)}&${form({ client_secret })}`,
  )
  const [first] = forms
  if (!path || first === undefined) return undefined
  await ask(base + path, first, ({ request_uri }) => typeof request_uri === 'string')
  return { kind: 'same', path, forms, expected: 'pushed' }
}

const proofs: Work['load'] = async (target) =>
  target.signedIn && {
    kind: 'proofs',
    forms: target.machines.map((machine) => machineForm(machine, target, target.resource)),
    keys: PROOF_KEYS,
  }

const keyedMachines: Work['load'] = async ({ keyedMachines: clients, scope, resource }) =>
  clients && {
    kind: 'client_assertions',
    form: form({ grant_type: 'client_credentials', client_assertion_type: JWT_BEARER_ASSERTION, scope, resource }),
    clients,
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
  { name: 'private_key_jwt', load: keyedMachines },
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
  { name: 'par', load: pushes },
  { name: 'metadata', load: metadata },
  { name: 'login', load: logins },
]

/** The name of a workload on the command line: its name up to the comma. */
const subject = ({ name }: Work) => name.split(',')[0] as string
export const subjects: readonly string[] = [...new Set(works.map(subject))]

/** The workloads of a scenario: all of them for `token`, otherwise those of an endpoint or grant. */
export const worksOf = (scenario: string, cold: boolean): readonly Work[] =>
  works.filter(
    (work) => (cold || !work.cold) && (scenario === 'token' || subject(work) === scenario || work.name === scenario),
  )

/** The workload of a part of a mix: the first one of the scenario. */
export type Mix = readonly { work: Work; share: number }[]

/** Parses `client_credentials=80,refresh_token=15,exchange=5`. Throws for unknown workloads. */
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

/** The sum of the shares of a mix. */
export const sumOf = (mix: Mix): number => mix.reduce((sum, { share }) => sum + share, 0)

/** A workload that combines several, each with its share of the requests. */
export const mixOf = (mix: Mix): Work => ({
  name: `mix ${mix.map(({ work, share }) => `${subject(work)}=${share}`).join(',')}`,
  async load(target) {
    const parts = await Promise.all(mix.map(async ({ work, share }) => ({ share, feed: await work.load(target) })))
    const feeds = parts.flatMap(({ share, feed }) => (feed ? [{ share, feed }] : []))
    return feeds.length === parts.length ? { kind: 'mix', parts: feeds } : undefined
  },
})

/** The plan of the load generator for a workload and a server; undefined when the server does not support it. */
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
