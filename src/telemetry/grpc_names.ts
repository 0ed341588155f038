// How gRPC finds the collectors: by the look-up of names that everything else uses. Its own one would have each of three channels
// hold a thread of libuv's while a name server is silent, and then nobody else could look anything up.
import { createRequire } from 'node:module'
import type * as Grpc from '@grpc/grpc-js'
import type { experimental as names } from '@grpc/grpc-js'
import { lookUpName } from '../lib/system_names.ts'

/** The gRPC of the exporters, wherever npm put it: another copy would have resolvers of its own. */
const ofExporters = createRequire(createRequire(import.meta.url).resolve('@opentelemetry/exporter-trace-otlp-grpc'))
const { experimental, status } = ofExporters('@grpc/grpc-js') as typeof Grpc

/** A collector that moved is found this long after its last look-up at the latest. */
const LOOKUP_EVERY_MS = 10_000

class CollectorNames implements names.Resolver {
  private readonly host: string
  private readonly port: number
  private readonly listener: names.ResolverListener
  private timer: NodeJS.Timeout | undefined
  private nextAtMs = 0

  constructor({ path }: names.GrpcUri, listener: names.ResolverListener) {
    const { host = '', port = 443 } = experimental.splitHostPort(path) ?? {}
    this.host = host
    this.port = port
    this.listener = listener
  }

  static getDefaultAuthority({ path }: names.GrpcUri): string {
    return path
  }

  updateResolution(): void {
    if (this.timer) return
    const timer = setTimeout(() => void this.resolve(timer), Math.max(0, this.nextAtMs - performance.now()))
    timer.unref()
    this.timer = timer
  }

  destroy(): void {
    clearTimeout(this.timer)
    this.timer = undefined
  }

  /** Tells the channel what was found, unless that has gone meanwhile. */
  private async resolve(timer: NodeJS.Timeout): Promise<void> {
    const { host, port } = this
    const addresses = await lookUpName(host).catch(() => undefined)
    if (this.timer !== timer) return
    this.timer = undefined
    this.nextAtMs = performance.now() + LOOKUP_EVERY_MS
    const answer: names.StatusOr<names.Endpoint[]> = addresses
      ? experimental.statusOrFromValue(addresses.map((each) => ({ addresses: [{ host: each, port }] })))
      : experimental.statusOrFromError({ code: status.UNAVAILABLE, details: `the name ${host} cannot be resolved` })
    this.listener(answer, {}, null, '')
  }
}

/** Has every channel that is opened from now on find its host this way. */
export const useSystemNames = (): void => experimental.registerResolver('dns', CollectorNames)
