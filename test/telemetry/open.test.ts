// What is not asked for is not loaded.
import { execFileSync } from 'node:child_process'
import path from 'node:path'
import { expect, test } from 'vitest'
import { packageRoot } from '../../src/lib/paths.ts'

/** How many modules of OpenTelemetry (but its interface, which prom-client loads) and gRPC a process has after it opened its telemetry with these variables. */
function loaded(env: Record<string, string>): number {
  const built = (file: string) => JSON.stringify(path.join(packageRoot, 'dist/src', file))
  const script = `
    import { createRequire } from 'node:module'
    import { loadConfig } from ${built('config/load.js')}
    import { openTelemetry } from ${built('telemetry/open.js')}
    import ${built('server/serve.js')}
    const env = ${JSON.stringify(env)}
    const telemetry = await openTelemetry(loadConfig(undefined, env).config, { version: '0' }, env)
    const { cache } = createRequire(import.meta.url)
    process.stdout.write(String(Object.keys(cache).filter((file) => /@opentelemetry\\/(?!api\\/)|@grpc/.test(file)).length))
    await telemetry.close()`
  return Number(execFileSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' }))
}

test('without an export no module of OpenTelemetry is loaded', () => expect(loaded({})).toBe(0))

test('with an export the modules of OpenTelemetry are loaded', () =>
  expect(
    loaded({
      SERVICE_TRACING_ENABLED: 'true',
      SERVICE_TRACING_ENDPOINT: '127.0.0.1:9',
      SERVICE_TRACING_INSECURE: 'true',
    }),
  ).toBeGreaterThan(10))
