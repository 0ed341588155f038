// Which operations the server offers, and the capability that each one needs.
import type { Capability } from '../../src/records/api_key.ts'
import { get } from './api.ts'

export type OfferedOperations = ReadonlyMap<string, Capability>

/** Reads the offered operations. */
export async function readOffered(): Promise<OfferedOperations> {
  const offered = await get<Record<string, string[]>>('/admin/ui/operations')
  return new Map(
    Object.entries(offered).flatMap(([needed, ids]) => ids.map((id) => [id, needed as Capability] as const)),
  )
}
