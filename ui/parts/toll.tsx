// How much a revocation ends, counted before it.
import { call } from '../lib/api.ts'
import { quantity } from '../lib/format.ts'
import { useLoad } from '../lib/load.ts'
import type { RevokedAnswer } from '../lib/types.ts'

/** What matches, without a change. */
export function RevocationToll({ of }: { of: object }) {
  const { data, error } = useLoad('toll', () =>
    call<RevokedAnswer>('POST', '/admin/revocations', { ...of, dry_run: true }),
  )
  return <b>{data ? tollOf(data) : (error?.message ?? 'Counting…')}</b>
}
const tollOf = ({ tokens, families, clients }: RevokedAnswer) =>
  `${quantity(tokens, 'live token')} and ${quantity(families, 'sign-in')} of ${quantity(clients, 'client')}`
