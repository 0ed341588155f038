// The rules of each part of the service for private addresses, as the configuration sets them.
import { expect, test } from 'vitest'
import { addressRules, literalFault, type OutboundPart } from '../../src/net/address_rules.ts'
import { load, over, PRODUCTION, problemsOf } from '../config/loading.ts'

const PARTS: OutboundPart[] = ['cimd', 'connect', 'events', 'oidc', 'xaa']
const withHosts = (part: string, allow_hosts: unknown) => over(PRODUCTION, { [part]: { allow_hosts } })

test.each(PARTS)('I31 %s.allow_hosts opens a private host for that part alone, with a production issuer', (part) => {
  const { config } = load(withHosts(part, ['git.CORP', '10.0.0.0/8']))
  const faultOf = (other: OutboundPart) => literalFault(new URL('https://10.1.2.3/'), addressRules(config, other))
  expect(config[part].allow_hosts).toEqual(['git.corp', '10.0.0.0/8'])
  for (const other of PARTS)
    expect(faultOf(other)?.key, other).toBe(other === part ? undefined : `${other}.allow_hosts`)
})

test('a list can come from a variable', () => {
  const { config } = load(PRODUCTION, { SERVICE_CONNECT_ALLOW_HOSTS: 'git.corp, 10.0.0.0/8' })
  expect(config.connect.allow_hosts).toEqual(['git.corp', '10.0.0.0/8'])
})

test.each(PARTS)('I35 a %s.allow_hosts that is no host does not boot', (part) => {
  const problems = problemsOf(withHosts(part, ['git.corp', 'https://git.corp/']))
  expect(problems).toEqual([{ key: `${part}.allow_hosts[1]`, message: expect.stringContaining('must be a host name') }])
})

test('localhost counts as the addresses of this machine, other names are not judged', () => {
  const rules = addressRules(load(PRODUCTION).config, 'events')
  expect(literalFault(new URL('https://localhost/'), rules)?.key).toBe('events.allow_hosts')
  expect(literalFault(new URL('https://a.localhost./'), rules)?.key).toBe('events.allow_hosts')
  expect(literalFault(new URL('https://2130706433/'), rules)?.key).toBe('events.allow_hosts')
  expect(literalFault(new URL('https://git.corp/'), rules)).toBeUndefined()
})
