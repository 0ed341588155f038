// Ids as names, so that people read names.
import { useLoad } from '../lib/load.ts'
import { learnedName, learnNames } from '../lib/names.ts'
import { href } from '../lib/router.ts'
import { Mono, Name } from './text.tsx'

const PAGES: Readonly<Record<string, string>> = { client: 'clients', user: 'users', resource: 'resources' }
/** Members that are ids, and the page of each. */
export const ID_PAGES: Readonly<Record<string, string>> = {
  user_id: 'users',
  client_id: 'clients',
  resource_id: 'resources',
  local_subject: 'users',
  jti: 'issuances',
  parent: 'issuances',
}

interface NamedProps {
  id: string | undefined
  page?: string
  /** What stays visible beside a name, such as the id: people choose the names of themselves and of their clients, so names can be alike. */
  beside?: string
}
/** An id as its name, with a link to its page. */
export function NamedId({ id, page, beside }: NamedProps) {
  const named = id ? learnedName(id) : undefined
  const place = named ? PAGES[named.kind] : page
  if (!id || !place) return <Mono of={id} or="unknown" />
  return (
    <>
      <a href={href([place, id])} title={id}>
        {named?.name ? <Name of={named.name} /> : <code>{beside ?? id}</code>}
      </a>
      {named?.name && beside && (
        <small>
          {' '}
          <code>{beside}</code>
        </small>
      )}
    </>
  )
}

/** Shows the ids of a page at once, and their names when they are known. */
export const useNames = (ids: readonly (string | undefined)[]) => useLoad(`names ${ids.join()}`, () => learnNames(ids))
