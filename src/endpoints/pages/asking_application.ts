// The application that a sign-in is for: the one whose authorization request the login page returns to.
import type { App } from '../../context.ts'
import { type Params, parseParams, splitTarget } from '../../http/message.ts'
import { OAuthError } from '../../lib/error.ts'
import { html, isolated, type Markup } from '../../lib/html.ts'
import { isUrlShaped } from '../../oauth/clients/cimd.ts'
import { resolveClient } from '../../oauth/clients/find_client.ts'
import { placeOf } from '../../oauth/clients/redirect_uri.ts'
import { PATHS } from '../../oauth/metadata.ts'
import type { Client } from '../../records/client.ts'
import { placeOfTarget, safeRedirect } from './urls.ts'

/**
 * The name of the application, and where it is if it chose the name itself. `target` is the local path that the login returns to. Undefined when
 * no application asks, or none that is known. Nothing is fetched: a client document that is not stored has the host of its URL.
 */
export async function askingApplication(app: App, target: string | undefined): Promise<Markup | undefined> {
  // As the login returns to it, and as the authorization endpoint reads it: otherwise an application could hide its name.
  const { path, query } = splitTarget(placeOfTarget(app, safeRedirect(app, target)))
  if (path !== PATHS.authorize) return undefined
  const { client_id, redirect_uri } = paramsOf(query)
  if (client_id === undefined) return undefined
  const client = await resolveClient(app, client_id)
  if (client) return client.status === 'active' ? named(client, redirect_uri) : undefined
  return isUrlShaped(client_id) && URL.canParse(client_id) ? isolated(new URL(client_id).host) : undefined
}

/** The parameters of an authorization request; none when it will be refused. */
function paramsOf(query: string): Params {
  try {
    return parseParams(query, 'resource')
  } catch (error) {
    if (error instanceof OAuthError) return {}
    throw error
  }
}

function named(
  { client_id, client_name, redirect_uris, registration_source }: Client,
  asked: string | undefined,
): Markup {
  const name = html`<strong>${isolated(client_name)}</strong>`
  if (registration_source === 'admin') return name
  if (registration_source === 'cimd') return html`${name} (${new URL(client_id).host})`
  const places = redirect_uris.map(placeOf)
  const wanted = asked !== undefined && URL.canParse(asked) ? placeOf(asked) : undefined
  return html`${name} (${wanted !== undefined && places.includes(wanted) ? wanted : places[0]})`
}
