// Admin operations on the three lists of a resource's policy, one item at a time. Adding and removing are idempotent.
import { z } from 'zod'
import type { App } from '../app.ts'
import { text } from '../lib/field.ts'
import type { Policy, Resource } from '../oauth/types.ts'
import { type AdminResource, action, type Result } from './action.ts'
import { invalid, retryStale } from './outcome.ts'
import { getResource, writeResource } from './resources.ts'

/** One list: where it is in the policy, and what its items and answers are called. */
interface PolicyList {
  name: 'exchange' | 'runtime' | 'connect'
  member: string
  only?: Resource['backend_kind']
  read(policy: Policy): string[]
  write(policy: Policy, items: string[]): Policy
}

const exchange: PolicyList = {
  name: 'exchange',
  member: 'allowed_client_ids',
  read: (policy) => policy.exchange.allowed_client_ids,
  write: (policy, allowed_client_ids) => ({ ...policy, exchange: { allowed_client_ids } }),
}
const runtime: PolicyList = {
  name: 'runtime',
  member: 'client_ids',
  read: (policy) => policy.runtime.client_ids,
  write: (policy, client_ids) => ({ ...policy, runtime: { client_ids } }),
}
const connect: PolicyList = {
  name: 'connect',
  member: 'allowed_return_urls',
  only: 'broker',
  read: (policy) => policy.connect.allowed_return_urls,
  write: (policy, allowed_return_urls) => ({ ...policy, connect: { allowed_return_urls } }),
}
