// Guessing of user codes at a real server: many sessions, and another address for each guess, through a trusted proxy. Every guess is
// refused, few are looked up, and the memory stays bounded. SERVICE_GUESSES sets their number; a million takes tens of minutes.
import { statSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { expect, test } from 'vitest'
import { DEVICE_CODE_GRANT, newUserCode, shownUserCode } from '../../src/oauth/sign_in/device.ts'
import { Browser, fieldsOf } from '../support/browser.ts'
import { askForCode, codesOf, consentPageOf } from '../support/device.ts'
import { signIn } from '../support/flow.ts'
import { tempFolder } from '../support/folder.ts'
import { type Placed, placed } from '../support/instances.ts'
import { PASSWORD } from '../support/service.ts'
import { operate } from '../torture/scene.ts'

const GUESSES = Number(process.env['SERVICE_GUESSES'] ?? 4_000)
const SESSIONS = Math.max(20, Math.ceil(GUESSES / 2_000))
/** The guesses after which the process counts as warm. */
const WARM = Math.min(GUESSES / 2, 100_000)
/** User codes that a session may look up at once; one a minute follows. */
const AT_ONCE = 10
const PARALLEL = 16
const MB = 2 ** 20
const MAX_GROWTH_MB = 64

const EMAIL = 'eve@example.com'
const RESOURCE = 'https://notes.example.com/mcp'
const agent = new Agent({ keepAlive: true, maxSockets: PARALLEL })

/** Posts a form over a connection that is used again. Returns the status. */
const post = (url: string, headers: Record<string, string>, fields: Record<string, string>) =>
  new Promise<number>((resolve, reject) => {
    const type = { 'content-type': 'application/x-www-form-urlencoded' }
    const sent = request(url, { method: 'POST', agent, headers: { ...type, ...headers } }, (answer) => {
      answer.resume().on('end', () => resolve(answer.statusCode ?? 0))
    })
    sent.on('error', reject).end(new URLSearchParams(fields).toString())
  })

/** A different address for each number, in one of two families. */
const addressOf = (n: number) =>
  n % 2 === 0
    ? `10.${(n >> 16) & 255}.${(n >> 8) & 255}.${n & 255}`
    : `2001:db8:${(n >> 16).toString(16)}:${(n & 0xffff).toString(16)}::1`

/** A wrong code: mostly of the right form, sometimes a long text. */
const guessOf = (n: number) => (n % 10 === 0 ? `${n} `.repeat(200) : shownUserCode(newUserCode()))

async function addScene({ admin }: Placed): Promise<{ client_id: string }> {
  await operate(admin, 'POST', 'users', { email: EMAIL, password: PASSWORD })
  const scopes = [{ name: 'mcp:read' }, { name: 'mcp:write' }]
  await operate(admin, 'POST', 'resources', { slug: 'notes', uri: RESOURCE, backend_kind: 'mint', scopes })
  return operate(admin, 'POST', 'clients', {
    client_name: 'TV',
    grant_types: [DEVICE_CODE_GRANT],
    redirect_uris: [],
    token_endpoint_auth_method: 'none',
    scope: 'mcp:read mcp:write',
  })
}

/** A browser in which the attacker is signed in. */
async function attacker({ issuer }: { issuer: string }): Promise<Browser> {
  const browser = new Browser()
  await signIn({ issuer }, browser, await browser.open(`${issuer}/login`), EMAIL)
  return browser
}

/** What the form for user codes needs of a session. */
async function sessionOf(browser: Browser, issuer: string) {
  const { csrf_token = '' } = Object.fromEntries(fieldsOf(await browser.open(`${issuer}/device`)))
  return { cookie: [...browser.cookies].map((pair) => pair.join('=')).join('; '), csrf_token }
}
type Session = Awaited<ReturnType<typeof sessionOf>>

/** Sends the guesses from one number to another. Counts the answers by status. */
async function guess(issuer: string, sessions: Session[], from: number, to: number, counts: Map<number, number>) {
  let next = from
  const send = async () => {
    for (let n = next++; n < to; n = next++) {
      const { cookie, csrf_token } = sessions[n % sessions.length] as Session
      const headers = { cookie, 'x-forwarded-for': addressOf(n) }
      const status = await post(`${issuer}/device`, headers, { csrf_token, user_code: guessOf(n) })
      counts.set(status, (counts.get(status) ?? 0) + 1)
    }
  }
  await Promise.all(Array.from({ length: PARALLEL }, send))
}

test(`${GUESSES} wrong user codes are refused in bounded memory`, { timeout: 7_200_000 }, async () => {
  const at = await placed(tempFolder(), {
    SERVICE_DEVICE_ENABLED: 'true',
    SERVICE_DEVICE_CODE_EXPIRY: '1h',
    SERVICE_SERVER_TRUSTED_PROXIES: '127.0.0.1',
    SERVICE_LOG_LEVEL: 'error',
  })
  await at.instance.start()
  const codes = codesOf(await askForCode(at, await addScene(at), { resource: RESOURCE }))
  const sessions: Session[] = []
  while (sessions.length < SESSIONS) sessions.push(await sessionOf(await attacker(at), at.issuer))

  const startedMs = performance.now()
  const answers = new Map<number, number>()
  await guess(at.issuer, sessions, 0, WARM, answers)
  const warm = at.instance.residentBytes()
  await guess(at.issuer, sessions, WARM, GUESSES, answers)
  const end = at.instance.residentBytes()
  const seconds = (performance.now() - startedMs) / 1000

  const file = statSync(at.env['SERVICE_STORAGE_SQLITE_PATH'] as string).size
  const counted = [...answers].map(([status, count]) => `${count} times ${status}`).join(', ')
  process.stderr.write(
    `${GUESSES} guesses of ${SESSIONS} sessions in ${seconds.toFixed(0)} s: ${counted}; ` +
      `memory ${(warm / MB).toFixed(0)} MiB after ${WARM}, ${(end / MB).toFixed(0)} MiB at the end; database ${(file / MB).toFixed(0)} MiB\n`,
  )
  expect([...answers.keys()].every((status) => status === 422 || status === 429)).toBe(true)
  expect(answers.get(422)).toBeLessThanOrEqual(SESSIONS * (AT_ONCE + 1 + seconds / 60))
  expect((end - warm) / MB).toBeLessThan(MAX_GROWTH_MB)
  // The code of the device was not found, and its user is not locked out.
  expect((await consentPageOf(at, await attacker(at), codes.user_code)).text).toContain('TV')
})
