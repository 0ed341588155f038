// What must hold after a death, for everything that was answered before it.
import { createLocalJWKSet, type JSONWebKeySet, jwtVerify } from 'jose'
import { ADMIN_KEY } from '../support/service.ts'
import { refreshOnce, replay, type Torture } from './clients.ts'

/** Of the many things that were answered, so many of a kind are tried again. */
const SAMPLE = 25

function sample<T>(items: readonly T[]): T[] {
  const shuffled = items.map((item) => ({ item, at: Math.random() })).sort((a, b) => a.at - b.at)
  return shuffled.slice(0, SAMPLE).map(({ item }) => item)
}

/** Everything that does not hold, in words. */
export async function broken(at: Torture): Promise<string[]> {
  const faults = [...at.history.faults]
  const say = (holds: boolean, what: string) => {
    if (!holds) faults.push(what)
  }
  const rows = await recordedIn(at)
  for (const { jti } of at.history.issued) say(rows.has(jti), `token ${jti} was answered and is not on record`)

  const keys = (await (await fetch(`${at.base()}/.well-known/jwks.json`)).json()) as JSONWebKeySet
  const keySet = createLocalJWKSet(keys)
  for (const { access_token, jti } of sample(at.history.issued))
    say(
      await jwtVerify(access_token, keySet).then(
        () => true,
        () => false,
      ),
      `token ${jti} does not verify any more`,
    )

  for (const token of sample([...at.history.revoked]))
    say(!(await isActive(at, token)), 'a revoked token is active again')
  for (const { what, form, headers } of sample(at.history.consumed))
    say((await replay(at, form, headers)) >= 400, `a ${what} was accepted a second time`)
  for (const client of at.history.suspended)
    say((await replay(at, { grant_type: 'client_credentials', ...client })) >= 400, 'a suspended client got a token')
  await checkFamilies(at, say)
  return faults
}

async function checkFamilies(at: Torture, say: (holds: boolean, what: string) => void): Promise<void> {
  const { families } = at.history
  for (const family of sample(families.filter(({ state }) => state === 'dead')))
    say((await refreshOnce(at, family)) >= 400, 'a revoked sign-in was refreshed')
  // A code that was brought again ended its sign-in: only those of others are sure to go on.
  for (const family of sample(families.filter(({ consumed }) => consumed.length > 0))) {
    const used = family.consumed.at(-1) ?? ''
    say((await refreshOnce(at, { refresh_token: used })) >= 400, 'a used refresh token was accepted again')
    say((await refreshOnce(at, family)) >= 400, 'a sign-in went on after one of its used tokens came back')
    family.state = 'dead'
  }
}

async function recordedIn({ admin }: Torture): Promise<Set<string>> {
  const response = await fetch(`${admin}/admin/issuances/export`, { headers: { authorization: `Bearer ${ADMIN_KEY}` } })
  const lines = (await response.text()).split('\n').filter(Boolean)
  return new Set(lines.map((line) => (JSON.parse(line) as { id: string }).id))
}

async function isActive(at: Torture, token: string): Promise<boolean> {
  const body = new URLSearchParams({ ...at.machine, token })
  const response = await fetch(`${at.base()}/oauth/introspect`, { method: 'POST', body })
  return ((await response.json()) as { active: boolean }).active
}
