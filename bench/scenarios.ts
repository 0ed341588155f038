// What can be measured: a list. A work says what a server is sent; everything else about a run is the same for all of them.
import type { LoopPlan } from './closed_loop.ts'
import { mapAtOnce } from './register.ts'
import type { Machine, Target } from './server.ts'

export type Load =
  | { kind: 'bodies'; path: string; warmup: readonly string[]; bodies: readonly string[] }
  | { kind: 'loop'; plan: Omit<LoopPlan, 'pid' | 'connections' | 'warmupSeconds' | 'seconds'> }

export interface Work {
  name: string
  /** Measured with 20,000 clients that the server has not seen since it was started. */
  cold?: boolean
  /** Asks once, checks the answer, and returns what to send. */
  load(target: Target): Promise<Load>
}

const TOKENS_PER_CLIENT = 10
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
  (work: LoopPlan['work']): Work['load'] =>
  async (target) => {
    const { base, paths, app, resource, verifier, cookie } = target
    return {
      kind: 'loop',
      plan: {
        work,
        base,
        authorize: { path: paths.authorize, cookie },
        paths,
        codeForm: form({ grant_type: 'authorization_code', ...app, resource, code_verifier: verifier }),
        refreshForm: form({ grant_type: 'refresh_token', client_id: app.client_id, resource }),
        machines: target.machines.map((machine) => ({
          issueForm: machineForm(machine, target, target.introspectedResource),
          introspectForm: form({ ...machine }),
        })),
      },
    }
  }

export const works: readonly Work[] = [
  { name: 'client_credentials', load: clientCredentials((target) => target.machines) },
  { name: 'client_credentials, cold', cold: true, load: clientCredentials((target) => target.coldMachines) },
  { name: 'authorization_code', load: loop('codes') },
  { name: 'refresh_token', load: loop('chains') },
  { name: 'introspection, new tokens', load: loop('tokens') },
  { name: 'introspection, same tokens', load: introspection },
]

/** What a work is called on the command line: its name before the comma. */
const subject = ({ name }: Work) => name.split(',')[0] as string
export const subjects: readonly string[] = [...new Set(works.map(subject))]

/** The works that a scenario of the command line names: `token` is all of them, else those of an endpoint or grant. */
export const worksOf = (scenario: string, cold: boolean): readonly Work[] =>
  works.filter((work) => (cold || !work.cold) && (scenario === 'token' || subject(work) === scenario))
