// What can be measured: a list. A work says what a server is sent; everything else about a run is the same for all of them.
import type { FeedPlan, Site } from './feeds.ts'
import type { Login } from './obtain.ts'
import { JWT_BEARER, mapAtOnce, TOKEN_EXCHANGE } from './register.ts'
import type { Gateway, Machine, Target } from './server.ts'

export type Load =
  | { kind: 'bodies'; path: string; warmup: readonly string[]; bodies: readonly string[] }
  | { kind: 'loop'; plan: Site & { feed: FeedPlan } }

export interface Work {
  name: string
  /** Measured with 20,000 clients that the server has not seen since it was started. */
  cold?: boolean
  /** Needs a gateway: a server without one is left out. */
  gateway?: boolean
  /** Asks once, checks the answer, and returns what to send. */
  load(target: Target): Promise<Load>
}

const TOKENS_PER_CLIENT = 10
/** DPoP keys in rotation. */
const PROOF_KEYS = 2000
/** Subjects of assertions in rotation, and subject tokens that are exchanged again and again. */
const SUBJECTS = 1000
const ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token'
const JWT = /^[\w-]+\.[\w-]+\.[\w-]+$/

const form = (fields: Record<string, string>) => new URLSearchParams(fields).toString()

const machineForm = (machine: Machine, { scope }: Target, resource: string) =>
  form({ grant_type: 'client_credentials', ...machine, scope, resource })

/** POSTs a form outside of any measurement. Throws unless the answer is as `right` wants it: nobody measures refusals. */
async function ask(url: string, body: string, right: (answer: Record<string, unknown>) => boolean) {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body,
    signal: AbortSignal.timeout(20_000),
  })
  const text = await response.text()
  const answer = (response.status === 200 ? JSON.parse(text) : {}) as Record<string, unknown>
  if (!right(answer)) throw new Error(`POST ${url} answered ${response.status} ${text.slice(0, 500)}`)
  return answer
}
const isJwt = (answer: Record<string, unknown>) => JWT.test(String(answer['access_token']))

const clientCredentials =
  (machinesOf: (target: Target) => readonly Machine[]): Work['load'] =>
  async (target) => {
    const formsOf = (machines: readonly Machine[]) =>
      machines.map((machine) => machineForm(machine, target, target.resource))
    const warmup = formsOf(target.machines)
    await ask(target.base + target.paths.token, warmup[0] as string, isJwt)
    return { kind: 'bodies', path: target.paths.token, warmup, bodies: formsOf(machinesOf(target)) }
  }

const introspection: Work['load'] = async (target) => {
  const { base, paths } = target
  const owners = target.machines.flatMap((machine) => Array.from({ length: TOKENS_PER_CLIENT }, () => machine))
  const bodies = await mapAtOnce(owners, async (machine) => {
    const issued = await ask(base + paths.token, machineForm(machine, target, target.introspectedResource), (answer) =>
      Boolean(answer['access_token']),
    )
    return form({ ...machine, token: String(issued['access_token']) })
  })
  await ask(base + paths.introspection, bodies[0] as string, (answer) => answer['active'] === true)
  return { kind: 'bodies', path: paths.introspection, warmup: bodies, bodies }
}

const loop =
  (feedOf: (target: Target) => FeedPlan): Work['load'] =>
  async (target) => {
    const { base, paths, app, resource, verifier, cookie } = target
    const login: Login = {
      authorizePath: paths.authorize,
      cookie,
      tokenPath: paths.token,
      codeForm: form({ grant_type: 'authorization_code', ...app, resource, code_verifier: verifier }),
      refreshForm: form({ grant_type: 'refresh_token', client_id: app.client_id, resource }),
    }
    return { kind: 'loop', plan: { base, login, feed: feedOf(target) } }
  }

const introspections = (target: Target): FeedPlan => ({
  kind: 'introspections',
  path: target.paths.introspection,
  owners: target.machines.map((machine) => ({
    issueForm: machineForm(machine, target, target.introspectedResource),
    introspectForm: form({ ...machine }),
  })),
})

const proofs = (target: Target): FeedPlan => ({
  kind: 'proofs',
  forms: target.machines.map((machine) => machineForm(machine, target, target.resource)),
  keys: PROOF_KEYS,
})

const ofGateway = (feedOf: (gateway: Gateway, target: Target) => FeedPlan): Work['load'] =>
  loop((target) => {
    if (!target.gateway) throw new Error(`${target.name} has no gateway`)
    return feedOf(target.gateway, target)
  })

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

export const works: readonly Work[] = [
  { name: 'client_credentials', load: clientCredentials((target) => target.machines) },
  { name: 'client_credentials, cold', cold: true, load: clientCredentials((target) => target.coldMachines) },
  { name: 'authorization_code', load: loop(() => ({ kind: 'codes' })) },
  { name: 'refresh_token', load: loop(() => ({ kind: 'chains', bound: false })) },
  { name: 'introspection, new tokens', load: loop(introspections) },
  { name: 'introspection, same tokens', load: introspection },
  { name: 'dpop, client_credentials', load: loop(proofs) },
  { name: 'dpop, refresh_token', load: loop(() => ({ kind: 'chains', bound: true })) },
  { name: 'exchange, new tokens', gateway: true, load: exchanges() },
  { name: 'exchange, same tokens', gateway: true, load: exchanges(SUBJECTS) },
  { name: 'xaa', gateway: true, load: assertions },
]

/** What a work is called on the command line: its name before the comma. */
const subject = ({ name }: Work) => name.split(',')[0] as string
export const subjects: readonly string[] = [...new Set(works.map(subject))]

/** The works that a scenario of the command line names: `token` is all of them, else those of an endpoint or grant. */
export const worksOf = (scenario: string, cold: boolean): readonly Work[] =>
  works.filter((work) => (cold || !work.cold) && (scenario === 'token' || subject(work) === scenario))
