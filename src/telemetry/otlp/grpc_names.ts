// Name resolution of the collectors for gRPC: the resolver that the whole service uses. With gRPC's own resolver, each of three
// channels would block a thread of libuv while a name server does not answer, and no other name could be resolved.
import { createRequire } from 'node:module'
import type * as Grpc from '@grpc/grpc-js'
import type { experimental as names } from '@grpc/grpc-js'
import { lookUpName } from '../../lib/system_names.ts'

/** The gRPC package that the exporters load, wherever npm installed it: another copy would have resolvers of its own. */
const ofExporters = createRequire(createRequire(import.meta.url).resolve('@opentelemetry/exporter-trace-otlp-grpc'))
const { experimental, status } = ofExporters('@grpc/grpc-js') as typeof Grpc

/** Minimum interval between two look-ups of a collector. */
const LOOKUP_INTERVAL_MS = 10_000

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

  /** Passes the result to the channel, unless the channel was closed meanwhile. */
  private async resolve(timer: NodeJS.Timeout): Promise<void> {
    const { host, port } = this
    const addresses = await lookUpName(host).catch(() => undefined)
    if (this.timer !== timer) return
    this.timer = undefined
    this.nextAtMs = performance.now() + LOOKUP_INTERVAL_MS
    const answer: names.StatusOr<names.Endpoint[]> = addresses
      ? experimental.statusOrFromValue(addresses.map((each) => ({ addresses: [{ host: each, port }] })))
      : experimental.statusOrFromError({ code: status.UNAVAILABLE, details: `the name ${host} cannot be resolved` })
    this.listener(answer, {}, null, '')
  }
}

/** Makes every channel that is opened from now on use this resolver. */
export const useSystemNames = (): void => experimental.registerResolver('dns', CollectorNames)
