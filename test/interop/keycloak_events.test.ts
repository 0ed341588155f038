// Keycloak reads what the transmitter publishes: its metadata, a stream, and every type of security event token, with the classes and
// checks of its own implementation of shared signals.
import path from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { packageRoot } from '../../src/lib/paths.ts'
import { everySecurityEvent } from '../support/security_events.ts'
import { startService, type TestService } from '../support/service.ts'
import { drive } from './driver.ts'
import { keycloak } from './toolchain.ts'

const toolchain = await keycloak()
const READER = path.join(packageRoot, 'test/interop/keycloak/SecurityEvents.java')
/** The class of Keycloak for each type. It has none for the others, and reads their members as attributes. */
const CLASSES: Readonly<Record<string, string>> = {
  'session-revoked': 'CaepSessionRevoked',
  'credential-change': 'CaepCredentialChange',
  'token-claims-change': 'GenericSsfEvent',
  'token-revoked': 'GenericSsfEvent',
  'account-disabled': 'GenericSsfEvent',
  'account-enabled': 'GenericSsfEvent',
  'account-purged': 'GenericSsfEvent',
  verification: 'SsfStreamVerificationEvent',
  // Keycloak's class has an object as status, where OpenID SSF 1.0 §8.1.5 has a text.
  'stream-updated': 'GenericSsfEvent',
}

interface Read {
  configuration_endpoint: string
  stream_id: string
  delivery: string
  events: { typ: string; jti: string; aud: string[]; type: string; subject: string; class: string; unknown: string[] }[]
}

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

test.skipIf('missing' in toolchain)('Keycloak 26.7 reads and verifies every type of security event token', async () => {
  const { server, stream, sets } = await everySecurityEvent(service)
  const get = async (name: string) => (await fetch(`${service.issuer}/.well-known/${name}`)).json()
  const task = {
    metadata: await get('ssf-configuration'),
    jwks: await get('jwks.json'),
    stream,
    sets: Object.values(sets),
  }
  const home = 'command' in toolchain ? toolchain.command[0] : ''
  const { result } = await drive(
    ['java', '-cp', `${home}/lib/lib/main/*:${home}/lib/lib/boot/*`, READER],
    task,
    service,
  )
  const read = result as Read
  expect(read).toMatchObject({
    configuration_endpoint: `${service.issuer}/ssf/streams`,
    stream_id: stream.stream_id,
    delivery: `${service.issuer}/ssf/poll/${stream.stream_id}`,
  })
  expect(read.events.map(({ jti }) => jti)).toEqual(Object.keys(sets))
  for (const event of read.events) {
    const name = event.type.split('/').at(-1) ?? ''
    const isOfUser = name !== 'token-revoked' && !name.startsWith('stream') && name !== 'verification'
    expect(event).toMatchObject({
      typ: 'secevent+jwt',
      aud: [server.client_id],
      subject: isOfUser ? 'IssuerSubjectId' : 'OpaqueSubjectId',
      class: CLASSES[name],
    })
    // A class of Keycloak knows every member of its type.
    if (event.class !== 'GenericSsfEvent') expect(event.unknown).toEqual([])
  }
  const names = read.events.map(({ type }) => type.split('/').at(-1))
  expect([...new Set(names)].toSorted()).toEqual(Object.keys(CLASSES).toSorted())
})
