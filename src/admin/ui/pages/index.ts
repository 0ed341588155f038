// The pages, in the order of the navigation.
import type { ComponentType } from 'preact'
import type { Place } from '../lib/router.ts'
import { Clients } from './clients.tsx'
import { Home } from './home.tsx'

export interface Page {
  /** First segment of the address; empty for home. */
  name: string
  title: string
  group: string
  /** The operation without which it is not there. */
  needs?: string
  show: ComponentType<{ place: Place }>
}

export const HOME: Page = { name: '', title: 'Home', group: '', show: Home }

export const PAGES: readonly Page[] = [HOME, { name: 'clients', title: 'Clients', group: 'Registry', show: Clients }]
