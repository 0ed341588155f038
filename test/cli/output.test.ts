import path from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { bannerOf } from '../../src/cli/commands.ts'
import { asText, printError } from '../../src/cli/output.ts'
import { loadConfig } from '../../src/config/load.ts'
import { unavailable } from '../../src/lib/error.ts'

test('members of an object are printed as key=value lines', () => {
  expect(asText({ id: 'a', count: 0, on: false, none: '' })).toBe('id=a\ncount=0\non=false\nnone=')
})

test('undefined members are not printed', () => {
  expect(asText({ id: 'a', gone: undefined, nothing: null })).toBe('id=a')
})

test('lists of plain values are joined with commas', () => {
  expect(asText({ grant_types: ['a', 'b'], redirect_uris: [] })).toBe('grant_types=a,b\nredirect_uris=')
})

test('nested members are named by their path', () => {
  const answer = { policy: { runtime: { client_ids: ['a', 'b'] } }, scopes: [{ name: 'x' }, { name: 'y' }] }
  expect(asText(answer)).toBe('policy.runtime.client_ids=a,b\nscopes[0].name=x\nscopes[1].name=y')
})

test('list items are separated by a blank line, and an empty list prints nothing', () => {
  expect(asText([{ id: 'a', name: 'A' }, { id: 'b' }])).toBe('id=a\nname=A\n\nid=b')
  expect(asText([])).toBe('')
})

test('an error is printed with its cause once', () => {
  const written = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
  const cause = new Error('no route')
  printError(unavailable('the keys are away', { cause }))
  printError(unavailable('the keys are away: no route', { cause }))
  const lines = written.mock.calls.map(([line]) => line)
  written.mockRestore()
  const line = 'error: the keys are away: no route [temporarily_unavailable]\n'
  expect(lines).toEqual([line, line])
})

describe('the greeting of serve', () => {
  test('the startup message names both addresses, the data folder, and unsafe settings on localhost', () => {
    const { config } = loadConfig(undefined, {})
    const text = bannerOf(config, config.dcr.mode, '1.2.3', false)
    expect(text).toContain('http://localhost:9000')
    expect(text).toContain('http://127.0.0.1:9001/admin/ui/')
    expect(text).toContain(path.resolve('data/service.db'))
    expect(text).toMatch(/Unsafe settings: With an issuer that is not on localhost[\s\S]*- admin.api_key is empty/)
  })

  test('the startup message names the DCR mode in force and an exposed admin listener, also with an https issuer', () => {
    const secret = '0123456789abcdef'.repeat(2)
    const { config } = loadConfig(undefined, {
      SERVICE_SERVER_ISSUER: 'https://auth.example.com',
      SERVICE_SESSION_SECRET: secret,
      SERVICE_SESSION_SECURE: 'true',
      SERVICE_ADMIN_API_KEY: [...secret].reverse().join(''),
      SERVICE_ADMIN_ADDRESS: '0.0.0.0:9001',
      SERVICE_DCR_MODE: 'admin_only',
    })
    const open = bannerOf(config, 'open', '1.2.3', false)
    expect(open).toMatch(
      /Unsafe settings:\n[\s\S]*- dcr.mode is open[\s\S]*- admin.address accepts connections on every/,
    )
    expect(bannerOf(config, 'admin_only', '1.2.3', false)).not.toContain('dcr.mode')
  })

  test('the startup message does not repeat the warnings of a log on the same terminal', () => {
    const { config } = loadConfig(undefined, {})
    const text = bannerOf(config, config.dcr.mode, '1.2.3', true)
    expect(text).toContain('http://localhost:9000')
    expect(text).not.toContain('Unsafe')
  })

  test('the startup message has no safety remarks when no setting is unsafe', () => {
    const { config } = loadConfig(undefined, {
      SERVICE_SESSION_SECRET: '0123456789abcdef'.repeat(2),
      SERVICE_ADMIN_API_KEY: 'fedcba9876543210'.repeat(2),
      SERVICE_DCR_MODE: 'admin_only',
    })
    expect(bannerOf(config, config.dcr.mode, '1.2.3', false)).not.toContain('Unsafe')
  })
})
