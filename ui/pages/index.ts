// The pages, in the order of the navigation.
import type { ComponentType } from 'preact'
import type { Location } from '../lib/router.ts'
import { ApiKeys } from './api_keys.tsx'
import { Audit } from './audit.tsx'
import { ClientRequests } from './client_requests.tsx'
import { Clients } from './clients.tsx'
import { Connect } from './connect.tsx'
import { Connections } from './connections.tsx'
import { FrontingPage } from './fronting.tsx'
import { GroupsPage } from './groups.tsx'
import { Home } from './home.tsx'
import { Idps } from './idps.tsx'
import { Issuances } from './issuances.tsx'
import { KeysPage } from './keys.tsx'
import { Lockouts } from './lockouts.tsx'
import { Mappings } from './mappings.tsx'
import { Policies } from './policies.tsx'
import { Providers } from './providers.tsx'
import { Resources } from './resources.tsx'
import { SettingsPage } from './settings.tsx'
import { Streams } from './streams.tsx'
import { Try } from './try/try.tsx'
import { Users } from './users/users.tsx'
import { WastePage } from './waste.tsx'
import { Webhooks } from './webhooks.tsx'

export interface PageEntry {
  /** First segment of the address; empty for home. */
  name: string
  title: string
  group: string
  /** The page is shown only if the server has this operation. */
  needs?: string
  /** The inputs of the page keep their values when its address changes. */
  keeps?: true
  show: ComponentType<{ place: Location }>
}

export const HOME: PageEntry = { name: '', title: 'Home', group: '', show: Home }

export const PAGES: readonly PageEntry[] = [
  HOME,
  { name: 'connections', title: 'Connections', group: '', show: Connections },
  { name: 'clients', title: 'Clients', group: 'Registry', show: Clients },
  { name: 'client-requests', title: 'Client requests', group: 'Registry', show: ClientRequests },
  { name: 'users', title: 'Users', group: 'Registry', show: Users },
  { name: 'groups', title: 'Groups', group: 'Registry', show: GroupsPage },
  { name: 'resources', title: 'Resources', group: 'Registry', show: Resources },
  { name: 'connect', title: 'Connect a server', group: 'Registry', show: Connect },
  { name: 'providers', title: 'Providers', group: 'Registry', needs: 'provider.list', show: Providers },
  { name: 'fronting', title: 'Fronting', group: 'Registry', needs: 'fronting.list', show: FrontingPage },
  { name: 'idps', title: 'Identity providers', group: 'Federation', needs: 'idp.list', show: Idps },
  { name: 'policies', title: 'Policies', group: 'Federation', needs: 'policy.list', show: Policies },
  { name: 'mappings', title: 'Subject mappings', group: 'Federation', needs: 'mapping.list', show: Mappings },
  { name: 'issuances', title: 'Issuances', group: 'Record', show: Issuances },
  { name: 'audit', title: 'Audit', group: 'Record', show: Audit },
  { name: 'webhooks', title: 'Webhooks', group: 'Operate', show: Webhooks },
  { name: 'streams', title: 'Streams', group: 'Operate', show: Streams },
  { name: 'lockouts', title: 'Lockouts', group: 'Operate', show: Lockouts },
  { name: 'waste', title: 'Waste', group: 'Operate', show: WastePage },
  { name: 'keys', title: 'Keys', group: 'Operate', show: KeysPage },
  { name: 'api-keys', title: 'API keys', group: 'Operate', show: ApiKeys },
  { name: 'settings', title: 'Settings', group: 'Operate', show: SettingsPage },
  { name: 'try', title: 'Try it', group: 'Operate', needs: 'try.token', keeps: true, show: Try },
]
