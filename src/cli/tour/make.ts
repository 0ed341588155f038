// Creates the items that a tour needs, once.
import { actionNamed } from '../../admin/index.ts'
import { OAuthError } from '../../lib/error.ts'
import type { AdminClient } from '../send.ts'

/** Creates an item. Returns the answer of the admin API; undefined when an item with its name exists. */
export async function makeOnce(
  sender: AdminClient,
  resource: string,
  body: Record<string, unknown>,
): Promise<Record<string, unknown> | undefined> {
  try {
    const made = await sender.send(actionNamed(resource, 'create'), { params: {}, query: {}, body })
    return made as Record<string, unknown>
  } catch (error) {
    if (error instanceof OAuthError && error.status === 409) return undefined
    throw error
  }
}
