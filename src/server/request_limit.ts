// The limit on requests as the configuration has it at each request, because a reload changes it.
import type { Config } from '../config/schema.ts'
import type { Limiter, Rate } from '../http/rate_limit.ts'

/** `rate_limit.requests_per_second` and `rate_limit.burst`. */
export const requestRate = ({ rate_limit }: Config): Rate => ({
  get rate() {
    return rate_limit.requests_per_second
  },
  get burst() {
    return rate_limit.burst
  },
})

/** A limiter that lets every request pass while `rate_limit.enabled` is false. */
export const whileEnabled = ({ rate_limit }: Config, limiter: Limiter): Limiter => ({
  take: () => (rate_limit.enabled ? limiter.take() : 0),
  giveBack: () => {
    if (rate_limit.enabled) limiter.giveBack()
  },
})
