// The frame of every page: the navigation, the name of the operator, and the logout.
import { useEffect, useRef, useState } from 'preact/hooks'
import { useGet, useLoad } from '../lib/load.ts'
import { readOffered } from '../lib/offered.ts'
import { href, type Location, usePlace } from '../lib/router.ts'
import { forgetOperations } from '../lib/schema.ts'
import type { SignedInOperator } from '../lib/session.ts'
import type { Status } from '../lib/types.ts'
import { showTimesInUtc, timesInUtc } from '../lib/zone.ts'
import { HOME, PAGES, type PageEntry } from '../pages/index.ts'
import { ConfirmButton } from './dialog.tsx'
import { Mark } from './icons.tsx'
import { AccessContext } from './operation_button.tsx'
import { SearchField } from './search_field.tsx'
import { Badge, Empty } from './text.tsx'

interface ShellProps {
  operator: SignedInOperator
  onSignOut: () => void
  onWall: () => Promise<void>
}
/** The navigation with the page that the address names. */
export function Shell({ operator, onSignOut, onWall }: ShellProps) {
  const place = usePlace()
  const page = pageOf(place)
  const { 1: id = '' } = place.segments
  const Shown = (id && page?.one) || page?.show
  const [isOpen, setOpen] = useState(false)
  const status = useGet<Status>('/admin/system/status')
  const offered = useLoad('offered', readOffered)
  const main = useRef<HTMLElement>(null)
  const isFirst = useRef(true)
  const [isUtc, setUtc] = useState(timesInUtc)
  const isThere = ({ needs }: PageEntry) => !needs || !offered.data || offered.data.has(needs)

  useEffect(() => () => forgetOperations(), [])
  useEffect(() => {
    document.title = `${page ? page.title : 'Not found'} · Admin`
    setOpen(false)
    // Readers of the page hear the new one, and the keyboard continues there.
    if (!isFirst.current && !main.current?.contains(document.activeElement)) main.current?.focus()
    isFirst.current = false
  }, [page, place.segments.join('/')])
  useEffect(() => {
    document.addEventListener('keydown', focusSearch)
    return () => document.removeEventListener('keydown', focusSearch)
  }, [])

  const present = PAGES.filter((each) => !each.isHidden && isThere(each))
  const places = [...new Set(present.map(({ group }) => group))]
  const beside = present.filter(({ group }) => group === page?.group)
  const switchZone = () => {
    showTimesInUtc(!isUtc)
    setUtc(!isUtc)
  }
  return (
    <div class="shell">
      <a class="skip" href="#content">
        Skip to the content
      </a>
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
        <ul>
          {places.map((group) => (
            <li key={group}>
              <a
                href={addressOf(present.find((each) => each.group === group) ?? HOME)}
                aria-current={group === page?.group ? 'true' : undefined}
              >
                {group}
              </a>
            </li>
          ))}
        </ul>
        <footer>
          <span class="small">
            {operator.actor_id} <Badge>{operator.capability}</Badge>
          </span>
          <button type="button" class="quiet" aria-pressed={isUtc} onClick={switchZone}>
            Times in UTC
          </button>
          <button type="button" onClick={onSignOut}>
            Sign out
          </button>
          <ConfirmButton
            operation="wall"
            label="Wall view"
            verb="Show it"
            harmless
            title="Show the wall view?"
            run={onWall}
          >
            This browser shows Home alone, for a screen that stays on. Its session becomes read-only, in every tab. It
            ends after 7 days, and not for want of input. To work again, end the wall view and sign in.
          </ConfirmButton>
          <span class="soft small">{status.data && `${status.data.version} · ${status.data.commit}`}</span>
        </footer>
      </nav>
      <main class="content" id="content" tabIndex={-1} ref={main}>
        <SearchField />
        {beside.length > 1 && (
          <nav class="tabs" aria-label={page?.group}>
            {beside.map((each) => (
              <a key={each.name} href={addressOf(each)} aria-current={each === page ? 'page' : undefined}>
                {each.title}
              </a>
            ))}
          </nav>
        )}
        <AccessContext.Provider value={{ operator, offered: offered.data }} key={String(isUtc)}>
          {Shown ? (
            <Shown
              place={place}
              id={id}
              key={page?.keeps ? page.name : [...place.segments, place.query['pasted']].join('/')}
            />
          ) : (
            <Lost />
          )}
        </AccessContext.Provider>
      </main>
    </div>
  )
}

const addressOf = ({ name }: PageEntry): string => href(name ? [name] : [])

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
