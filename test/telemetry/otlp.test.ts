// What arrives at a collector: decoded from gRPC and protobuf by the published protocol.
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { status } from '@grpc/grpc-js'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { brokerScene, startBroker, vended } from '../support/broker.ts'
import { Collector } from '../support/collector.ts'
import { ask, DocumentServer, LOCAL_DOCUMENTS, signedIn } from '../support/documents.ts'
import { post } from '../support/flow.ts'
import { tempFolder } from '../support/folder.ts'
import { cert, key } from '../support/localhost_certificate.ts'
import { addClient, addResource, addUser, startService, type TestService } from '../support/service.ts'

let collector: Collector
let service: TestService | undefined
beforeEach(async () => {
  collector = await Collector.start()
})
afterEach(async () => {
  await service?.close()
  service = undefined
  collector.close()
  vi.unstubAllEnvs()
})

const TRACING = () => ({
  SERVICE_TRACING_ENABLED: 'true',
  SERVICE_TRACING_ENDPOINT: collector.endpoint,
  SERVICE_TRACING_INSECURE: 'true',
})
const METRICS = (provider: string) => ({
  SERVICE_METRICS_PROVIDER: provider,
  SERVICE_METRICS_OTEL_ENDPOINT: collector.endpoint,
  SERVICE_METRICS_INSECURE: 'true',
})
const LOGS = () => ({
  SERVICE_LOG_LEVEL: 'debug',
  SERVICE_LOG_OTEL: 'true',
  SERVICE_LOG_OTEL_ENDPOINT: collector.endpoint,
  SERVICE_LOG_OTEL_INSECURE: 'true',
})
const start = async (env: Record<string, string>): Promise<TestService> => {
  service = await startService(env)
  return service
}
/** Ends the service, which sends what is left. */
const finish = async () => {
  await service?.close()
  service = undefined
}

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const SPAN = 'b7ad6b7169203331'
const machineToken = async (at: TestService, headers: Record<string, string> = {}, fields = {}) =>
  post(`${at.issuer}/oauth/token`, await addClient(at), { grant_type: 'client_credentials', ...fields }, headers)
const named = (name: string) => collector.spans.filter((span) => span.name === name)

describe('traces', () => {
  test('a token request is a span with the span of its caller as parent, and with child spans for grant, store and signature', async () => {
    vi.stubEnv('OTEL_RESOURCE_ATTRIBUTES', 'deployment.environment.name=test')
    const at = await start(TRACING())
    expect((await machineToken(at, { traceparent: `00-${TRACE}-${SPAN}-01` })).status).toBe(200)
    await finish()
    const [request] = named('POST /oauth/token')
    expect(request).toMatchObject({
      trace_id: TRACE,
      parent: SPAN,
      kind: 2,
      status: 0,
      attributes: {
        'http.request.method': 'POST',
        'http.route': '/oauth/token',
        'http.response.status_code': 200,
        request_id: expect.stringMatching(/^[\w-]{22}$/),
      },
      resource: {
        'service.name': 'service',
        'service.version': at.app.build.version,
        'deployment.environment.name': 'test',
      },
    })
    const below = collector.spans.filter(({ parent }) => parent === request?.span_id)
    expect(below.map(({ name }) => name).sort()).toEqual([
      'crypto sign',
      'grant client_credentials',
      'store findClient',
      'store recordIssuance',
      // The first use of the secret.
      'store touchSecret',
    ])
    expect(collector.spans.every(({ trace_id }) => trace_id === TRACE)).toBe(true)
    expect(named('crypto sign')[0]?.attributes).toEqual({ 'crypto.alg': 'ES256', 'batch.size': 1 })
    expect(named('store recordIssuance')[0]?.attributes).toEqual({
      'db.operation.name': 'recordIssuance',
      'db.system.name': 'sqlite',
      // The first use of the secret may be in the same batch.
      'batch.size': expect.toBeOneOf([1, 2]),
    })
  })

  test('a refusal is exported with its reason, and not as a server error', async () => {
    const at = await start(TRACING())
    expect((await machineToken(at, {}, { scope: 'nonsense' })).status).toBe(400)
    await finish()
    expect(named('POST /oauth/token')[0]).toMatchObject({
      status: 0,
      attributes: { 'http.response.status_code': 400, 'error.reason': expect.stringMatching(/scope/) },
    })
    expect(named('grant client_credentials')[0]).toMatchObject({
      status: 2,
      attributes: { 'error.type': expect.stringMatching(/scope/) },
    })
  })

  test.each([
    ['a caller that does not sample', { traceparent: `00-${TRACE}-${SPAN}-00` }, '1'],
    ['a rate of 0', {}, '0'],
  ])('no span is sent for %s', async (_, headers, rate) => {
    const at = await start({ ...TRACING(), SERVICE_TRACING_SAMPLE_RATE: rate })
    expect((await machineToken(at, headers as Record<string, string>)).status).toBe(200)
    await finish()
    expect(collector.spans).toEqual([])
  })

  test('the sampling decision of the caller is followed, whatever the rate', async () => {
    const at = await start({ ...TRACING(), SERVICE_TRACING_SAMPLE_RATE: '0' })
    await machineToken(at, { traceparent: `00-${TRACE}-${SPAN}-01` })
    await finish()
    expect(named('POST /oauth/token')[0]?.trace_id).toBe(TRACE)
  })

  test('a malformed traceparent starts a new trace', async () => {
    const at = await start(TRACING())
    await machineToken(at, { traceparent: `00-${TRACE}-0000000000000000-01` })
    await finish()
    expect(named('POST /oauth/token')).toMatchObject([
      { trace_id: expect.stringMatching(/^[0-9a-f]{32}$/), parent: '' },
    ])
    expect(named('POST /oauth/token')[0]?.trace_id).not.toBe(TRACE)
  })

  test('a client document is fetched without a traceparent, and its span has the host but not the path', async () => {
    const documents = await DocumentServer.start()
    const sent: unknown[] = []
    const client_id = documents.publish(
      '/private/client.json',
      {},
      {
        answer(request, response) {
          sent.push(request.headers['traceparent'])
          const redirect_uris = ['https://client.example.com/callback']
          response
            .writeHead(200, { 'content-type': 'application/json' })
            .end(JSON.stringify({ client_id, client_name: 'Desk', redirect_uris }))
        },
      },
    )
    const at = await start({ ...TRACING(), ...LOCAL_DOCUMENTS })
    const { uri } = await addResource(at)
    await ask(at, await signedIn(at, await addUser(at)), { client_id, resource: uri })
    await finish()
    const [fetched] = named('fetch')
    expect(fetched).toMatchObject({
      kind: 3,
      attributes: { 'server.address': `localhost:${documents.port}`, 'http.response.status_code': 200 },
    })
    expect(sent).toEqual([undefined])
    expect(named('GET /oauth/authorize').map(({ trace_id }) => trace_id)).toContain(fetched?.trace_id)
    expect(JSON.stringify(collector.spans)).not.toContain('/private/')
    documents.close()
  })

  test('a request to a broker provider propagates the trace', async () => {
    service = await startBroker(TRACING())
    const scene = await brokerScene(service)
    await scene.connect()
    service.advance(7200)
    vended(await scene.vend(), scene.upstream)
    await finish()
    const { upstream } = scene
    const fetched = named('fetch').filter(({ attributes }) => upstream.url.endsWith(`${attributes['server.address']}`))
    const parents = fetched.map(({ trace_id, span_id }) => `00-${trace_id}-${span_id}-01`)
    expect(upstream.asked.map(({ headers }) => headers['traceparent'])).toEqual(parents)
    expect(parents.length).toBe(2)
  })
})

describe('metrics', () => {
  test('pushed metrics equal the scraped ones: names, labels, buckets', async () => {
    const at = await start(METRICS('both'))
    await machineToken(at)
    const scraped = await (await fetch(`${at.admin}/metrics`)).text()
    await finish()
    const names = [...scraped.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name)
    const pushed = new Map(collector.metrics.map((metric) => [metric.name, metric]))
    const valueless = names.filter((name) => !new RegExp(`^${name}(_bucket)?[ {]`, 'm').test(scraped))
    expect(names.filter((name) => !pushed.has(name ?? ''))).toEqual(valueless)
    expect(pushed.get('core_tokens_issued_total')).toMatchObject({
      type: 'sum',
      monotonic: true,
      description: 'Access tokens issued, by grant type',
    })
    expect(pushed.get('core_tokens_issued_total')?.points).toContainEqual(
      expect.objectContaining({ attributes: { grant_type: 'client_credentials' }, value: 1 }),
    )
    expect(pushed.get('core_active_clients')).toMatchObject({ type: 'gauge', points: [{ value: 1 }] })
    const issuance = pushed.get('core_token_issuance_duration_seconds')
    expect(issuance).toMatchObject({ type: 'histogram', unit: 's' })
    const [point] = issuance?.points ?? []
    expect(point?.bounds).toEqual([0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10])
    expect(point?.counts).toHaveLength(13)
    expect(point?.counts.reduce((sum, count) => sum + count)).toBe(1)
    expect(point?.sum).toBeGreaterThan(0)
  })

  test('metrics are pushed periodically while the service runs', async () => {
    await start({ ...METRICS('otel'), OTEL_METRIC_EXPORT_INTERVAL: '50' })
    await vi.waitFor(() =>
      expect(collector.metrics.filter(({ name }) => name === 'core_key_rotation_total').length).toBeGreaterThan(1),
    )
  })
})

describe('logs', () => {
  test('an event is exported with severity, message, fields and the trace of its request', async () => {
    const at = await start(LOGS())
    await machineToken(at, { traceparent: `00-${TRACE}-${SPAN}-01` })
    at.app.log.warn({ kid: 'k', nested: { list: ['a'] } }, 'a "message"\nof two lines')
    await finish()
    expect(collector.logs.find(({ attributes }) => attributes.path === '/oauth/token')).toMatchObject({
      severity: 'DEBUG',
      number: 5,
      body: 'request',
      trace_id: TRACE,
      attributes: { status: 200, method: 'POST', request_id: expect.any(String) },
      resource: { 'service.name': 'service' },
    })
    expect(collector.logs.find(({ severity }) => severity === 'WARN')).toMatchObject({
      number: 13,
      body: 'a "message"\nof two lines',
      attributes: { kid: 'k' },
    })
  })
})

describe('a collector', () => {
  test('that refuses or is unavailable delays no request, and lost data is counted', async () => {
    collector.refusal = status.INVALID_ARGUMENT
    const at = await start({ ...TRACING(), ...METRICS('both'), ...LOGS(), OTEL_BSP_SCHEDULE_DELAY: '20' })
    expect((await machineToken(at)).status).toBe(200)
    const dropped = (signal: string) =>
      at.app.metrics.counted('ext_telemetry_dropped_total').find(({ labels }) => labels.signal === signal)?.held.value
    await vi.waitFor(() => expect(dropped('traces')).toBeGreaterThan(0))
    await vi.waitFor(() => expect(dropped('logs')).toBeGreaterThan(0))
    collector.close()
    expect((await machineToken(at)).status).toBe(200)
  })

  test.each([
    ['a collector without a trusted certificate receives nothing', undefined],
    ['a collector with a trusted certificate receives spans', cert],
  ])('is connected with TLS unless the export is insecure: %s', async (_, trusted) => {
    if (trusted) {
      const file = path.join(tempFolder(), 'ca.pem')
      writeFileSync(file, trusted)
      vi.stubEnv('OTEL_EXPORTER_OTLP_CERTIFICATE', file)
    }
    const secure = await Collector.start({ key, cert })
    const at = await start({
      ...TRACING(),
      SERVICE_TRACING_ENDPOINT: secure.endpoint,
      SERVICE_TRACING_INSECURE: 'false',
    })
    await machineToken(at)
    await finish()
    expect(secure.spans.length > 0).toBe(trusted !== undefined)
    secure.close()
  })
})
