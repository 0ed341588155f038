// PostgreSQL commits, and its answer is lost: the caller gets a 503 and retries. The retry is no second use: refresh token, code
// and proof still work at this instance, without oauth.refresh_grace, also where another of its front threads gets the retry.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { addKeyedClient, proving } from '../support/assertion.ts'
import { dpop, proofKey } from '../support/dpop.ts'
import { type Answer, authorize, isActive, machineToken, post, redeem, refresh } from '../support/flow.ts'
import { type PostgresServer, startPostgres } from '../support/postgres.ts'
import { openProxy, type TcpProxy } from '../support/proxy.ts'
import { addClient, addResource, addUser, startService, type TestService } from '../support/service.ts'
import { eventually } from '../support/wire.ts'

/** Whether bytes that are sent contain an id: as a parameter of its own, or in the JSON parameter of a batch. */
const isIn = (sent: Buffer, id: Buffer): boolean => sent.includes(id) || sent.includes(id.toString('hex'))

/** The slow lane has a thousand. */
const ROUNDS = Number(process.env['SERVICE_TEST_LOST_ANSWERS'] ?? 25)

describe.each([1, 2])('with %i front threads', (threads) => {
  let server: PostgresServer
  let dsn: string
  let line: TcpProxy
  let service: TestService
  /** The text that identifies the statement whose answer is lost. */
  let losing: { id: Buffer; after: number } | undefined
  let lost = 0
  beforeAll(async () => {
    server = await startPostgres()
    dsn = await server.migrated()
    line = await openProxy(dsn, (sent) => {
      if (!losing || !isIn(sent, losing.id) || losing.after-- > 0) return sent
      losing = undefined
      lost++
      return undefined
    })
    service = await startService({
      SERVICE_STORAGE_DRIVER: 'postgres',
      SERVICE_STORAGE_POSTGRES_DSN: line.dsn,
      SERVICE_STORAGE_POSTGRES_MAX_CONNS: '10',
      SERVICE_SERVER_FRONT_THREADS: String(threads),
    })
  })
  afterAll(async () => {
    await service.close()
    line.close()
    await server.close()
  })

  /** Each on its own connection, so that the system distributes them over the threads. */
  const ALONE = { connection: 'close' }
  /** The id in a code or refresh token, as it is stored: the middle part of prefix_id_secret. */
  const idOf = (token: unknown): Buffer => Buffer.from(String(token).slice(3, 25), 'base64url')
  /** Records a use of the client's secret, so that the next one writes nothing. */
  const useSecret = async (client_id: string) => {
    const { store, clock } = service.app
    const [secret] = (await store.findClient({ client_id }))?.secrets ?? []
    await store.touchSecret({ client_id, id: secret?.id ?? '', now: clock.now() })
  }
  /** Sends a request whose write gets no answer, and retries until it is answered. */
  const sentAgain = async (id: Buffer, after: number, send: () => Promise<Answer>): Promise<Answer> => {
    const before = lost
    losing = { id, after }
    expect((await send()).status).toBe(503)
    expect(lost).toBe(before + 1)
    let answer = await send()
    await eventually(async () => {
      if (answer.status !== 503) return true
      answer = await send()
      return false
    })
    return answer
  }
  const signedIn = async () => {
    const [client, user, resource] = [await addClient(service), await addUser(service), await addResource(service)]
    const authorized = await authorize(service, client, user, { resource: resource.uri })
    return { client, authorized }
  }

  test('a refresh token whose rotation had no answer is rotated at the retry, also repeatedly', async () => {
    const { client, authorized } = await signedIn()
    let { body } = await redeem(service, client, authorized)
    for (let round = 0; round < ROUNDS; round++) {
      const token = body['refresh_token']
      // The first statement with its id looks it up, the second one uses it.
      const answer = await sentAgain(idOf(token), 1, () => refresh(service, client, token, {}, ALONE))
      expect([answer.status, answer.body['error']]).toEqual([200, undefined])
      ;({ body } = answer)
    }
    expect(await isActive(service, client, body['access_token'])).toBe(true)
    // The successors that no client received are deleted, and their access tokens are revoked.
    const [row] = await server.sql(
      dsn,
      `SELECT (SELECT count(*)::int FROM refresh_tokens) AS tokens, (SELECT count(*)::int FROM refresh_tokens WHERE consumed_at IS NULL) AS unused,
       (SELECT count(*)::int FROM issuances WHERE grant_type = 'refresh_token' AND revoked_at IS NULL) AS live`,
    )
    expect(row).toEqual({ tokens: ROUNDS + 1, unused: 1, live: ROUNDS })
  }, 600_000)

  test('a refresh token that was really used twice ends its family', async () => {
    const { client, authorized } = await signedIn()
    const { body } = await redeem(service, client, authorized)
    const first = body['refresh_token']
    const { body: next } = await sentAgain(idOf(first), 1, () => refresh(service, client, first, {}, ALONE))
    expect((await refresh(service, client, first)).body['error']).toBe('invalid_grant')
    expect((await refresh(service, client, next['refresh_token'])).body['error']).toBe('invalid_grant')
  })

  describe('requests whose first answer was lost', () => {
    test('a code is redeemed at the retry, and only once', async () => {
      const { client, authorized } = await signedIn()
      const send = () => redeem(service, client, authorized, {}, ALONE)
      const { status, body } = await sentAgain(idOf(authorized.code), 1, send)
      expect(status).toBe(200)
      expect((await refresh(service, client, body['refresh_token'])).status).toBe(200)
      expect((await send()).body['error']).toBe('invalid_grant')
    })

    test('a proof is accepted at the retry, and only once', async () => {
      const [client, key] = [await addClient(service), await proofKey()]
      const headers = { ...ALONE, ...(await dpop(service, key)) }
      const send = () => machineToken(service, client, {}, headers)
      await useSecret(client.client_id)
      // The first statement with its id looks the client up, the second one records the token.
      const { status } = await sentAgain(Buffer.from(client.client_id), 1, send)
      expect(status).toBe(200)
      expect((await send()).body['error']).toBe('invalid_dpop_proof')
    })

    test('a client assertion is accepted at the retry, and only once', async () => {
      const client = await addKeyedClient(service)
      const form = { grant_type: 'client_credentials', ...(await proving(service, client)) }
      const send = () => post(`${service.issuer}/oauth/token`, undefined, form, ALONE)
      const { status } = await sentAgain(Buffer.from(client.client_id), 1, send)
      expect(status).toBe(200)
      expect((await send()).body['error']).toBe('invalid_client')
    })
  })

  test('every lost answer was settled before the next request', async () => {
    const { client, authorized } = await signedIn()
    expect((await redeem(service, client, authorized)).status).toBe(200)
  })
})
