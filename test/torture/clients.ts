// Clients that never stop: each loop does one thing and notes what it was answered, until the service dies under it.
import { setTimeout as sleep } from 'node:timers/promises'
import { decodeJwt } from 'jose'
import { digest, newId, newSecret } from '../../src/lib/id.ts'
import { ACCESS_TOKEN, EXCHANGE } from '../support/exchange.ts'
import { type Answer, post } from '../support/flow.ts'
import { signed } from '../support/idp.ts'
import { REDIRECT_URI } from '../support/service.ts'
import { JWT_BEARER } from '../support/xaa.ts'
import type { Family, History } from './history.ts'
import { authorizeUrl, newMachine, operate, RESOURCE, type Scene } from './scene.ts'

export interface Torture extends Scene {
  history: History
  /** A running instance, any of them. */
  base(): string
  running: boolean
}
type Form = Record<string, string>
interface Client {
  client_id: string
  client_secret?: string
}

const MACHINE_TOKEN = { grant_type: 'client_credentials' }
const pick = <T>(items: readonly T[]): T | undefined => items[Math.floor(Math.random() * items.length)]
const seconds = () => Math.floor(Date.now() / 1000)

/** Asks for tokens. Undefined when no answer came. */
async function ask(
  at: Torture,
  client: Client | undefined,
  form: Form,
  headers: Form = {},
): Promise<Answer | undefined> {
  const answer = await post(`${at.base()}/oauth/token`, client, form, headers).catch(() => undefined)
  note(at.history, answer?.status ?? 0, JSON.stringify(answer?.body))
  if (answer?.status === 200) at.history.issue(answer.body['access_token'])
  return answer
}

function note(history: History, status: number, what: string): void {
  history.answers[status] = (history.answers[status] ?? 0) + 1
  if (status >= 500 && status !== 503) history.faults.push(`${status} ${what}`)
}

async function machine(at: Torture): Promise<void> {
  await ask(at, at.machine, MACHINE_TOKEN)
}

/** A code, redeemed twice at once: one answer at most. */
async function person(at: Torture): Promise<void> {
  const verifier = newSecret()
  const url = authorizeUrl(at.base(), at, RESOURCE, digest(verifier))
  const page = await at.browser.open(url).catch(() => undefined)
  const code = page?.location && new URL(page.location).searchParams.get('code')
  if (!code) return
  const form = { grant_type: 'authorization_code', code, code_verifier: verifier, redirect_uri: REDIRECT_URI }
  const twice = Math.random() < 0.1
  const answers = await Promise.all([ask(at, at.app, form), ...(twice ? [ask(at, at.app, form)] : [])])
  const [won, second] = answers.filter((answer) => answer?.status === 200)
  if (second) at.history.faults.push('a code was redeemed twice')
  if (!won) return
  at.history.consumed.push({ what: 'code', form: { ...form, client_id: at.app.client_id }, headers: {} })
  const refresh_token = String(won.body['refresh_token'])
  at.history.families.push({ refresh_token, consumed: [], state: twice ? 'unsure' : 'live' })
}

/** Rotates; now and then with two requests at once, of which one may win and the sign-in then ends. */
async function refresher(at: Torture): Promise<void> {
  const live = at.history.families.filter(({ state }) => state === 'live')
  const family = pick(live)
  if (!family) return void (await sleep(5))
  family.state = 'unsure'
  const form = { grant_type: 'refresh_token', refresh_token: family.refresh_token }
  const twice = Math.random() < 0.05
  const answers = await Promise.all([ask(at, at.app, form), ...(twice ? [ask(at, at.app, form)] : [])])
  const won = answers.filter((answer) => answer?.status === 200)
  if (won.length > 1) at.history.faults.push('a refresh token was accepted twice')
  const [first] = won
  if (!first) return
  family.consumed.push(family.refresh_token)
  family.refresh_token = String(first.body['refresh_token'])
  if (!twice) family.state = 'live'
}

async function prover(at: Torture): Promise<void> {
  const claims = { htm: 'POST', htu: `${at.issuer}/oauth/token`, jti: newId(), iat: seconds() }
  const proof = await signed(at.key, { typ: 'dpop+jwt', jwk: at.key.jwk }, claims)
  const answer = await ask(at, at.machine, MACHINE_TOKEN, { dpop: proof })
  if (answer?.status !== 200) return
  at.history.consumed.push({ what: 'proof', form: { ...MACHINE_TOKEN, ...at.machine }, headers: { dpop: proof } })
}

async function employee(at: Torture): Promise<void> {
  const { gateway, idp, issuer } = at
  const assertion = await idp.assertion({ aud: issuer, client_id: gateway.client_id, now: seconds() })
  const form = { grant_type: JWT_BEARER, assertion, resource: RESOURCE }
  const answer = await ask(at, gateway, form)
  if (answer?.status === 200)
    at.history.consumed.push({ what: 'assertion', form: { ...form, ...gateway }, headers: {} })
}

async function exchanger(at: Torture): Promise<void> {
  const subject = at.history.issued.findLast(({ access_token }) => isOf(at.app, access_token))
  if (!subject) return void (await sleep(20))
  const form = {
    grant_type: EXCHANGE,
    subject_token: subject.access_token,
    subject_token_type: ACCESS_TOKEN,
    resource: at.behind,
  }
  await ask(at, at.gateway, form)
}
const isOf = ({ client_id }: Client, token: string) => decodeJwt(token)['client_id'] === client_id

async function revoker(at: Torture): Promise<void> {
  await sleep(15)
  const issued = pick(at.history.issued.filter(({ access_token }) => isOf(at.machine, access_token)))
  if (issued) {
    const answer = await send(at, `${at.base()}/oauth/revoke`, { ...at.machine, token: issued.access_token })
    if (answer === 200) at.history.revoked.add(issued.access_token)
  }
  const family = pick(at.history.families.filter(({ state }) => state === 'live'))
  if (!family || Math.random() < 0.7) return
  family.state = 'unsure'
  const { client_id } = at.app
  const answer = await send(at, `${at.base()}/oauth/revoke`, { client_id, token: family.refresh_token })
  if (answer === 200) family.state = 'dead'
}

async function send(at: Torture, url: string, form: Form): Promise<number> {
  const response = await fetch(url, { method: 'POST', body: new URLSearchParams(form) }).catch(() => undefined)
  note(at.history, response?.status ?? 0, url)
  return response?.status ?? 0
}

/** What an operator does: suspends clients, rotates keys. */
async function operator(at: Torture): Promise<void> {
  await sleep(100)
  const machine = await newMachine(at.admin, ['client_credentials']).catch(() => undefined)
  if (!machine) return
  await ask(at, machine, MACHINE_TOKEN)
  const suspended = operate(at.admin, 'PATCH', `clients/${machine.client_id}/suspend`)
  if (
    await suspended.then(
      () => true,
      () => false,
    )
  )
    at.history.suspended.push(machine)
  if (Math.random() < 0.1) await operate(at.admin, 'POST', 'keys/rotate').catch(() => undefined)
}

const LOOPS = [
  machine,
  machine,
  machine,
  person,
  person,
  refresher,
  refresher,
  prover,
  employee,
  exchanger,
  revoker,
  operator,
]

/** Runs every loop until `running` is false. */
export async function load(at: Torture): Promise<void> {
  const endless = async (once: (at: Torture) => Promise<void>) => {
    while (at.running) await once(at)
  }
  await Promise.all(LOOPS.map(endless))
}

/** Brings something again as it was. Returns the status. */
export async function replay(at: Torture, form: Form, headers: Form = {}): Promise<number> {
  const answer = await post(`${at.base()}/oauth/token`, undefined, form, headers)
  return answer.status
}

/** Refreshes once more. Returns the status. */
export const refreshOnce = (at: Torture, { refresh_token }: Pick<Family, 'refresh_token'>): Promise<number> =>
  replay(at, { grant_type: 'refresh_token', refresh_token, client_id: at.app.client_id })
