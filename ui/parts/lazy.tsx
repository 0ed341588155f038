// Pages whose code is loaded when they are opened first, so that the others open sooner.
import type { ComponentType } from 'preact'
import { useLoad } from '../lib/load.ts'
import type { Location } from '../lib/router.ts'
import { ProblemNote } from './text.tsx'

/** A page. `id` is the second segment of its address. */
export type Page = ComponentType<{ place: Location; id: string }>

/** A page that is loaded when it is shown. */
export function lazily(read: () => Promise<Page>): Page {
  let loaded: Page | undefined
  return function Lazy(props) {
    const { data, error } = useLoad('page', async () => {
      loaded ??= await read()
      return { Page: loaded }
    })
    const Shown = data?.Page ?? loaded
    if (Shown) return <Shown {...props} />
    return <ProblemNote error={error} />
  }
}
