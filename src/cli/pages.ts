// Whole lists, read through the admin API page by page.
import { z } from 'zod'
import type { Action } from '../admin/action.ts'
import type { AdminClient } from './send.ts'

type Item = Record<string, unknown>
const PAGE = 500

/** Yields the items of a list: by cursor where the list has one, because offsets are slow in a long list. */
export async function* pagesOf(sender: AdminClient, list: Action, filter: Item = {}): AsyncGenerator<Item> {
  const { properties = {} } = list.query ? z.toJSONSchema(list.query, { io: 'input', unrepresentable: 'any' }) : {}
  let query: Item = { ...filter, ...('limit' in properties ? { limit: PAGE } : {}) }
  for (let offset = PAGE; ; offset += PAGE) {
    const page = (await sender.send(list, { params: {}, query })) as Item[]
    yield* page
    const last = page.at(-1)
    if (!('limit' in query) || page.length < PAGE || !last) return
    query = {
      ...filter,
      limit: PAGE,
      ...('after' in properties ? { after: last['id'] ?? last['client_id'] } : { offset }),
    }
  }
}
