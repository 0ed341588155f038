// Rules of operations on the applications that have access to the account of a user.
import { expect, test } from 'vitest'
import { newBearer, newId } from '../../../src/lib/id.ts'
import { aClient, aFamily, aRefreshToken, aRequest, aResource, aUser, issuanceOf, NOW } from '../../support/records.ts'
import type { Bench } from '../conformance.ts'
import { redemption } from './scenes.ts'

export function applicationRules(bench: Bench): void {
  const newUser = async () => {
    const user = aUser()
    await bench.store.createUser(user)
    return user.id
  }
  const newClient = async (client_name: string) => {
    const client = aClient({ client_name })
    await bench.store.createClient(client)
    return client.client_id
  }

  /** A client with a consent of the user for a resource of its own, and a token. */
  const allowed = async (user_id: string, client_name: string, token: { issued_at?: number; id?: string } = {}) => {
    const client_id = await newClient(client_name)
    const resource = aResource({ display_name: `Resource of ${client_name}` })
    await bench.store.createResource(resource)
    const request = aRequest({ user_id, client_id, resource: resource.uri })
    const { scope } = request
    await bench.store.createAuthorizationRequest(request)
    const consent = { id: newId(), user_id, client_id, resource_id: resource.id, scope, redirect_hosts: {} }
    const code = { code_hash: newBearer('ac').hash, code_expires_at: NOW + 60 }
    await bench.store.approveAuthorizationRequest({
      id: request.id,
      session_id: request.session_id,
      scope,
      ...code,
      consent,
      now: NOW,
    })
    const { family, refresh, issuance } = redemption({ user: aUser(), request, consent })
    await bench.store.redeemCode({ family, refresh, issuance: { ...issuance, ...token }, now: NOW })
    return { client_id, resource, consent, refresh, issuance }
  }

  /** A sign-in of the user at a client without a resource. */
  const unnamed = async (user_id: string, client_id: string, created_at = NOW) => {
    const code = { code_hash: newBearer('ac').hash, code_expires_at: NOW + 60 }
    const request = aRequest({ user_id, client_id, resource: undefined, ...code })
    await bench.store.createAuthorizationRequest(request)
    const { id: authorization_id, scope } = request
    const family = aFamily({ client_id, user_id, authorization_id, scope, consent_id: undefined, created_at })
    const refresh = aRefreshToken(family)
    const issuance = issuanceOf({ ...family, consent_id: undefined })
    await bench.store.redeemCode({ family, refresh, issuance, now: NOW })
    return { family, refresh, issuance, request }
  }
  const list = (user_id: string) => bench.store.listApplications({ user_id })
  const isEnded = async ({ refresh, issuance }: Pick<Awaited<ReturnType<typeof unnamed>>, 'refresh' | 'issuance'>) => [
    (await bench.store.findRefreshToken({ id: refresh.id }))?.family.revoked_at !== undefined,
    !(await bench.store.findTokenState({ id: issuance.id }))?.live,
  ]

  test('the applications of a user are listed by name, each with its resource and its last use', async () => {
    const [user_id, other] = [await newUser(), await newUser()]
    const notes = await allowed(user_id, 'Notes', { issued_at: NOW + 40 })
    const mail = await allowed(user_id, 'Mail')
    await allowed(other, 'Other')
    expect(await list(user_id)).toEqual([
      expect.objectContaining({ client_id: mail.client_id, client_name: 'Mail' }),
      {
        client_id: notes.client_id,
        client_name: 'Notes',
        resource_id: notes.resource.id,
        resource: {
          id: notes.resource.id,
          uri: notes.resource.uri,
          display_name: 'Resource of Notes',
          scopes: notes.resource.scopes,
        },
        scope: 'files:read',
        created_at: NOW,
        last_used_at: NOW + 40,
      },
    ])
  })

  test('an ended application is listed no more, and its tokens and refresh tokens ended with it, and no others', async () => {
    const user_id = await newUser()
    const [mine, kept] = [await allowed(user_id, 'Notes'), await allowed(user_id, 'Mail')]
    const end = (more: object) =>
      bench.store.endApplication({
        user_id,
        client_id: mine.client_id,
        resource_id: mine.resource.id,
        now: NOW,
        ...more,
      })
    for (const wrong of [
      { user_id: await newUser() },
      { resource_id: kept.resource.id },
      { client_id: kept.client_id },
    ])
      expect(await end(wrong)).toBeUndefined()
    expect(await end({ resource_id: undefined })).toBeUndefined()
    expect(await isEnded(mine)).toEqual([false, false])
    expect(await end({})).toEqual({ consent_id: mine.consent.id, families: 1 })
    expect(await end({})).toBeUndefined()
    expect((await list(user_id)).map(({ client_id }) => client_id)).toEqual([kept.client_id])
    expect([await isEnded(mine), await isEnded(kept)]).toEqual([
      [true, true],
      [false, false],
    ])
  })

  test('the sign-ins of a client without a resource are one application, and end together with their codes', async () => {
    const user_id = await newUser()
    const named = await allowed(user_id, 'Mail')
    const client_id = await newClient('Chat')
    const [first, second] = [await unnamed(user_id, client_id, NOW - 50), await unnamed(user_id, client_id)]
    const code = aRequest({ user_id, client_id, resource: undefined })
    await bench.store.createAuthorizationRequest({
      ...code,
      code_hash: newBearer('ac').hash,
      code_expires_at: NOW + 60,
    })
    expect(await list(user_id)).toEqual([
      {
        client_id,
        client_name: 'Chat',
        resource: undefined,
        scope: 'files:read',
        created_at: NOW - 50,
        last_used_at: NOW,
      },
      expect.objectContaining({ client_id: named.client_id }),
    ])
    const ended = await bench.store.endApplication({ user_id, client_id, now: NOW + 1 })
    expect(ended).toEqual({ families: 2 })
    expect([await isEnded(first), await isEnded(second), await isEnded(named)]).toEqual([
      [true, true],
      [true, true],
      [false, false],
    ])
    expect(await bench.store.findCode({ id: code.id })).toBeUndefined()
    expect((await list(user_id)).map(({ client_name }) => client_name)).toEqual(['Mail'])
  })

  test('an application whose last token is not among the newest of the user has a bound instead of a last use', async () => {
    const user_id = await newUser()
    await allowed(user_id, 'Quiet', { id: newId(), issued_at: NOW })
    const busy = await allowed(user_id, 'Busy')
    const many = Array.from({ length: 1000 }, (_, i) =>
      bench.store.recordIssuance({ ...busy.issuance, id: newId(), issued_at: NOW + 1 + i }),
    )
    await Promise.all(many)
    const [first, second] = await list(user_id)
    expect(first).toMatchObject({ client_name: 'Busy', last_used_at: expect.any(Number) })
    expect(second).toMatchObject({ client_name: 'Quiet', unused_since: expect.any(Number) })
    expect(second?.last_used_at).toBeUndefined()
  })
}
