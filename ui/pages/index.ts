// The pages, in the order of the menu. Each place of the menu has one page or several.
import { lazily, type Page } from '../parts/lazy.tsx'
import { Audit } from './audit.tsx'
import { ClientDetail } from './client.tsx'
import { ClientList } from './clients.tsx'
import { Connections } from './connections.tsx'
import { GroupsPage } from './groups.tsx'
import { Home } from './home.tsx'
import { ResourceDetail, ResourceList } from './resources.tsx'
import { UserDetail } from './users/user.tsx'
import { UserList } from './users/users.tsx'

export interface PageEntry {
  /** First segment of the address; empty for home. */
  name: string
  title: string
  /** The place in the menu. */
  group: string
  /** The page is shown only if the server has this operation. */
  needs?: string
  /** The page is not in the navigation. */
  isHidden?: true
  /** The inputs of the page keep their values when its address changes. */
  keeps?: true
  show: Page
  /** The page of one item, which the second segment of the address names. */
  one?: Page
}

const Try = lazily(async () => (await import('./try/try.tsx')).Try)
const Incidents = lazily(async () => (await import('./incidents/incidents.tsx')).Incidents)
const Search = lazily(async () => (await import('./search.tsx')).SearchPage)

type Rare = typeof import('./rare.ts')
const rarely = (name: keyof Rare) => lazily(async () => (await import('./rare.ts'))[name])

export const HOME: PageEntry = { name: '', title: 'Home', group: 'Now', show: Home }

export const PAGES: readonly PageEntry[] = [
  HOME,
  { name: 'search', title: 'Search', group: 'Now', isHidden: true, show: Search },
  { name: 'incidents', title: 'Incidents', group: 'Now', needs: 'incident.end', show: Incidents },
  { name: 'connections', title: 'Connections', group: 'Now', show: Connections },
  { name: 'resources', title: 'Resources', group: 'Servers', show: ResourceList, one: ResourceDetail },
  { name: 'connect', title: 'Connect a server', group: 'Servers', show: rarely('NewServer'), one: rarely('Connected') },
  { name: 'fronting', title: 'Fronting', group: 'Servers', needs: 'fronting.list', show: rarely('FrontingPage') },
  { name: 'clients', title: 'Clients', group: 'Clients', show: ClientList, one: ClientDetail },
  { name: 'client-requests', title: 'Client requests', group: 'Clients', show: rarely('ClientRequests') },
  { name: 'deleted', title: 'Deleted', group: 'Clients', isHidden: true, show: rarely('DeletedPage') },
  { name: 'waste', title: 'Waste', group: 'Clients', show: rarely('WastePage') },
  { name: 'try', title: 'Try it', group: 'Clients', needs: 'try.token', keeps: true, show: Try },
  { name: 'users', title: 'Users', group: 'People', show: UserList, one: UserDetail },
  { name: 'groups', title: 'Groups', group: 'People', show: GroupsPage },
  { name: 'approvals', title: 'Approvals', group: 'People', needs: 'approval.list', show: rarely('Approvals') },
  { name: 'lockouts', title: 'Lockouts', group: 'People', show: rarely('Lockouts') },
  { name: 'providers', title: 'Providers', group: 'Trust', needs: 'provider.list', show: rarely('Providers') },
  { name: 'idps', title: 'Identity providers', group: 'Trust', needs: 'idp.list', show: rarely('Idps') },
  { name: 'policies', title: 'Policies', group: 'Trust', needs: 'policy.list', show: rarely('Policies') },
  { name: 'mappings', title: 'Subject mappings', group: 'Trust', needs: 'mapping.list', show: rarely('Mappings') },
  { name: 'issuances', title: 'Issuances', group: 'Record', show: rarely('IssuanceList'), one: rarely('IssuancePage') },
  { name: 'audit', title: 'Audit', group: 'Record', show: Audit },
  { name: 'webhooks', title: 'Webhooks', group: 'Events', show: rarely('Webhooks') },
  { name: 'streams', title: 'Streams', group: 'Events', show: rarely('Streams') },
  { name: 'settings', title: 'Registration and configuration', group: 'Settings', show: rarely('SettingsPage') },
  { name: 'keys', title: 'Keys', group: 'Settings', show: rarely('KeysPage') },
  { name: 'api-keys', title: 'API keys', group: 'Settings', show: rarely('ApiKeys') },
]
