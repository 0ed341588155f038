// The limit on requests as the configuration has it at each request, because a reload changes it.
import type { Config } from '../config/schema.ts'
import type { AddressShare } from '../http/address_share.ts'
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

/** The share of an address in the limit, while `rate_limit.enabled` is true. */
export const shareWhileEnabled = (
  { rate_limit }: Config,
  share: AddressShare,
): Pick<AddressShare, 'take' | 'giveBack' | 'know'> => ({
  take: (address) => (rate_limit.enabled ? share.take(address) : 0),
  giveBack(address) {
    if (rate_limit.enabled) share.giveBack(address)
  },
  know: (address) => share.know(address),
})

/** A limiter that lets every request pass while `rate_limit.enabled` is false. */
export const whileEnabled = ({ rate_limit }: Config, limiter: Limiter): Limiter => ({
  take: () => (rate_limit.enabled ? limiter.take() : 0),
  giveBack: () => {
    if (rate_limit.enabled) limiter.giveBack()
  },
})
