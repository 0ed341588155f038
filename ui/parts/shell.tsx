// The frame of every page: the navigation, the name of the operator, and the logout.
import { useEffect, useState } from 'preact/hooks'
import { get } from '../lib/api.ts'
import { useLoad } from '../lib/load.ts'
import { href, type Location, usePlace } from '../lib/router.ts'
import { forgetOperations, operations } from '../lib/schema.ts'
import type { SignedInOperator } from '../lib/session.ts'
import type { Status } from '../lib/types.ts'
import { HOME, PAGES, type PageEntry } from '../pages/index.ts'
import { Mark } from './icons.tsx'
import { AccessContext } from './operation_button.tsx'
import { Badge, Empty } from './text.tsx'

/** The navigation with the page that the address names. */
export function Shell({ operator, onSignOut }: { operator: SignedInOperator; onSignOut: () => void }) {
  const place = usePlace()
  const page = pageOf(place)
  const [isOpen, setOpen] = useState(false)
  const status = useLoad('status', () => get<Status>('/admin/system/status'))
  const offered = useLoad('operations', operations)
  const isThere = ({ needs }: PageEntry) => !needs || !offered.data || offered.data.has(needs)

  useEffect(() => () => forgetOperations(), [])
  useEffect(() => {
    document.title = `${page ? page.title : 'Not found'} · Admin`
    setOpen(false)
  }, [page, place.segments.join('/')])
  useEffect(() => {
    document.addEventListener('keydown', focusSearch)
    return () => document.removeEventListener('keydown', focusSearch)
  }, [])

  const groups = [...new Set(PAGES.map(({ group }) => group))]
  return (
    <div class="shell">
      <nav class={isOpen ? 'side open' : 'side'} aria-label="Pages">
        <div class="top">
          <div class="brand">
            <Mark />
            <span>Admin</span>
          </div>
          <button type="button" class="menu-button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
            Menu
          </button>
        </div>
        {groups.map((group) => (
          <div key={group}>
            {group && <h2>{group}</h2>}
            <ul>
              {PAGES.filter((each) => each.group === group && isThere(each)).map((each) => (
                <li key={each.name}>
                  <a href={href(each.name ? [each.name] : [])} aria-current={each === page ? 'page' : undefined}>
                    {each.title}
                  </a>
                </li>
              ))}
            </ul>
          </div>
        ))}
        <footer>
          <span class="small">
            {operator.actor_id} <Badge>{operator.capability}</Badge>
          </span>
          <button type="button" onClick={onSignOut}>
            Sign out
          </button>
          <span class="soft small">{status.data && `${status.data.version} · ${status.data.commit}`}</span>
        </footer>
      </nav>
      <main class="content">
        <AccessContext.Provider value={{ operator, operations: offered.data }}>
          {page ? <page.show place={place} key={page.keeps ? page.name : place.segments.join('/')} /> : <Lost />}
        </AccessContext.Provider>
      </main>
    </div>
  )
}

const pageOf = ({ segments: [name = ''] }: Location): PageEntry | undefined =>
  name === '' ? HOME : PAGES.find((each) => each.name === name)

const Lost = () => (
  <Empty title="Page not found">
    <p>
      The address may be incomplete. <a href={href([])}>Home</a>
    </p>
  </Empty>
)

/** The key `/` moves to the search field. */
function focusSearch(event: KeyboardEvent): void {
  const isTyping = event.target instanceof Element && event.target.matches('input, textarea, select')
  if (event.key !== '/' || isTyping || event.metaKey || event.ctrlKey || event.altKey) return
  const field = document.querySelector<HTMLInputElement>('input[type=search]')
  if (!field) return
  event.preventDefault()
  field.select()
}
