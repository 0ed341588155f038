// What boots with a warning, and what does not boot because it is not built yet.
import { describe, expect, test } from 'vitest'
import { UNBUILT, warningsOf } from '../../src/config/notices.ts'
import type { Config } from '../../src/config/schema.ts'
import { load, over, PRODUCTION } from './loading.ts'

const warnings = (content?: object, dcrMode: Config['dcr']['mode'] = 'admin_only') =>
  warningsOf(load(content).config, dcrMode)

describe('warnings of a boot', () => {
  test('a deployment that has everything boots in silence', () => {
    expect(warnings(PRODUCTION)).toEqual([])
  })

  test('open registration is a warning, by the mode that is in force', () => {
    expect(warnings(PRODUCTION, 'open')).toEqual([expect.stringContaining('dcr.mode')])
    expect(warnings(over(PRODUCTION, { dcr: { mode: 'open' } }), 'admin_only')).toEqual([])
  })

  test('a public issuer without TLS is a warning', () => {
    expect(warnings(over(PRODUCTION, { server: { issuer: 'http://auth.example.com' } }))).toEqual([
      expect.stringContaining('server.issuer'),
    ])
  })

  test('an ephemeral secret and a closed admin API are warnings of a boot without configuration', () => {
    const said = warnings()
    expect(said).toEqual(
      expect.arrayContaining([expect.stringContaining('session.secret'), expect.stringContaining('admin.api_key')]),
    )
  })

  test('no warning repeats a secret', () => {
    expect(warnings(PRODUCTION, 'open').join()).not.toContain('k3yXw9')
  })
})

describe('what is not built yet', () => {
  const ASKING: Record<string, [asked: object, env?: Record<string, string>]> = {
    'oidc.enabled': [
      {
        oidc: {
          enabled: true,
          issuer: 'https://id.example',
          client_id: 'c',
          client_secret: 's',
          redirect_uri: 'http://localhost:9000/oidc/callback',
        },
      },
    ],
    'observability.tracing.enabled': [{ observability: { tracing: { enabled: true, endpoint: 'x:4317' } } }],
    'observability.metrics.provider': [{ observability: { metrics: { provider: 'otel', otel_endpoint: 'x:4317' } } }],
    'observability.logging.outputs.otel': [
      { observability: { logging: { outputs: { otel: true, otel_endpoint: 'x:4317' } } } },
    ],
  }

  test.each(UNBUILT.map((each) => each.keys.join(', ')))('%s boots with a warning', (keys) => {
    expect(load(...(ASKING[keys] ?? [])).warnings).toEqual([
      `${keys}: not built yet in this version, treated as switched off`,
    ])
  })

  test('a boot that asks for none of it has no such warning', () => {
    expect(load(PRODUCTION).warnings).toEqual([])
  })
})
