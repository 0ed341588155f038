// Detects leaked secrets: every secret that is sent over HTTP is recorded, and at the end it is searched
// for in the log, the exports, the metrics and the database (which contains the audit trail).
import fs, { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import type { Metrics } from '../../src/telemetry/metrics.ts'
import { Collector } from './collector.ts'

/** The fields of forms, JSON bodies and URLs that contain a secret, from every sender. */
const FIELDS =
  /^(access_token|refresh_token|id_token|client_secret|password|code|code_verifier|subject_token|actor_token|assertion|client_assertion|token|secret|api_key|state_secret)$/
/** Shorter values are ids, or are invented by tests. */
const MIN_LENGTH = 25
const STDOUT = 1

interface Service {
  metrics: Pick<Metrics, 'render'>
}

/** The watch that services of this process are under, if any; see startService(). */
export const watched: { by?: LeakWatch } = {}

export class LeakWatch {
  readonly collector: Collector
  /** The kind of each secret. */
  readonly secrets = new Map<string, string>()
  /** Values that were also sent where they are not secret, such as a challenge that equals its verifier. */
  private readonly open = new Set<string>()
  private readonly places = new Map<string, string>()
  private readonly undo: (() => void)[] = []

  private constructor(collector: Collector) {
    this.collector = collector
  }

  /** Begins to watch this process; end() ends it. */
  static async start(): Promise<LeakWatch> {
    const watch = new LeakWatch(await Collector.start())
    const write = fs.writeSync
    // Assigned and not mocked, because tests restore every mock. The log writes to this descriptor directly.
    const writeSync = (fd: number, data: string, ...rest: []) => {
      if (fd !== STDOUT) return write(fd, data, ...rest)
      watch.add('log', String(data))
      return Buffer.byteLength(data)
    }
    fs.writeSync = writeSync as typeof fs.writeSync
    const real = globalThis.fetch
    globalThis.fetch = async (input, init) => {
      watch.noteRequest(String(input instanceof Request ? input.url : input), init)
      const response = await real(input, init)
      await watch.noteResponse(response)
      return response
    }
    watch.undo.push(
      () => {
        fs.writeSync = write
      },
      () => {
        globalThis.fetch = real
      },
    )
    watched.by = watch
    return watch
  }

  /** The variables of a service with all logs and exports enabled. */
  env(): Record<string, string> {
    const { endpoint } = this.collector
    return {
      SERVICE_LOG_LEVEL: 'debug',
      SERVICE_LOG_STDOUT: 'true',
      SERVICE_LOG_OTEL: 'true',
      SERVICE_LOG_OTEL_ENDPOINT: endpoint,
      SERVICE_LOG_OTEL_INSECURE: 'true',
      SERVICE_TRACING_ENABLED: 'true',
      SERVICE_TRACING_ENDPOINT: endpoint,
      SERVICE_TRACING_INSECURE: 'true',
      SERVICE_METRICS_PROVIDER: 'both',
      SERVICE_METRICS_OTEL_ENDPOINT: endpoint,
      SERVICE_METRICS_INSECURE: 'true',
    }
  }

  /** Remembers a secret. */
  note(kind: string, secret: unknown): void {
    if (typeof secret === 'string' && secret.length >= MIN_LENGTH && isVaried(secret)) this.secrets.set(secret, kind)
  }

  /** Stores the metrics of a service that ends. */
  async keepMetrics({ metrics }: Service): Promise<void> {
    this.add('metrics', (await metrics.render()).text)
  }

  /** Stores the database of a service that has ended. */
  keepDatabase(folder: string): void {
    for (const file of readdirSync(folder).filter((name) => name.startsWith('service.db')))
      this.add('database', readFileSync(path.join(folder, file), 'latin1'))
  }

  /** All output to a place so far. */
  text(place: 'log' | 'metrics' | 'database'): string {
    return this.places.get(place) ?? ''
  }

  /** The findings: the kind of each leaked secret, the place, and the text before it. */
  findings(): string[] {
    const sent = Buffer.concat(this.collector.bytes).toString('latin1')
    const places = [...this.places, ['collector', sent] as const]
    const hidden = [...this.secrets].filter(([secret]) => !this.open.has(secret))
    return hidden.flatMap(([secret, kind]) =>
      places.flatMap(([place, text]) =>
        formsOf(secret).flatMap((form) => {
          const at = text.indexOf(form)
          return at < 0 ? [] : [`${kind} in the ${place}: ${JSON.stringify(text.slice(Math.max(0, at - 80), at + 20))}`]
        }),
      ),
    )
  }

  end(): void {
    for (const undo of this.undo) undo()
    this.collector.close()
    watched.by = undefined
  }

  private add(place: string, text: string): void {
    this.places.set(place, (this.places.get(place) ?? '') + text)
  }

  private noteRequest(url: string, init: RequestInit = {}): void {
    const headers = new Headers(init.headers)
    const [scheme, credentials = ''] = (headers.get('authorization') ?? '').split(' ')
    if (scheme === 'Basic') this.note('client_secret', decodeURIComponent(atob(credentials).split(':')[1] ?? ''))
    else this.note('authorization', credentials)
    this.note('proof', headers.get('dpop'))
    for (const pair of (headers.get('cookie') ?? '').split('; ')) this.note('cookie', pair.slice(pair.indexOf('=') + 1))
    this.noteFields(new URL(url).searchParams)
    const body = String(init.body ?? '')
    if (body.startsWith('{')) this.noteJson(body)
    else this.noteFields(new URLSearchParams(body))
  }

  private async noteResponse(response: Response): Promise<void> {
    for (const line of response.headers.getSetCookie())
      this.note('cookie', line.slice(line.indexOf('=') + 1).split(';')[0])
    const location = response.headers.get('location') ?? ''
    if (URL.canParse(location)) this.noteFields(new URL(location).searchParams)
    if (response.headers.get('content-type')?.includes('json')) this.noteJson(await response.clone().text())
  }

  private noteFields(fields: Iterable<[string, string]>): void {
    for (const [name, value] of fields)
      if (FIELDS.test(name)) this.note(name, value)
      else if (name === 'code_challenge') this.open.add(value)
  }

  private noteJson(text: string): void {
    try {
      JSON.parse(text, (name, value) => {
        if (FIELDS.test(name)) this.note(name, value)
        return value
      })
    } catch {}
  }
}

/** Not `AAAA...`, which tests of refusals use as a wrong secret. */
const isVaried = (text: string) => new Set(text).size > 10

/** The forms in which a secret may occur: verbatim, as bytes if it is base64url, and the signature of a JWT. */
function formsOf(secret: string): string[] {
  const random = /^[a-z]+_([\w-]{43,64})$/.exec(secret)?.[1]
  const bytes =
    random &&
    Buffer.from(random, 'base64url')
      .subarray(random.length === 64 ? 16 : 0)
      .toString('latin1')
  const signature = /^eyJ[\w-]+\.[\w-]+\.([\w-]{40,})$/.exec(secret)?.[1]
  return [secret, ...(bytes && isVaried(bytes) ? [bytes] : []), ...(signature ? [signature] : [])]
}
