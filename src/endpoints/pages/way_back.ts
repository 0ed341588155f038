// The way from a page back to the application that waits for an answer.
import type { App } from '../../context.ts'
import { parseParams, type RequestHead, splitTarget } from '../../http/message.ts'
import { OAuthError } from '../../lib/error.ts'
import { askerOf } from '../../oauth/clients/client_standing.ts'
import { PATHS } from '../../oauth/metadata.ts'
import { type ResponseAddress, resolveReturnAddress } from '../../oauth/sign_in/authorization.ts'
import type { BackLink } from './pages.ts'
import { backWith } from './response.ts'

/** The link with which an application learns that the person did not continue. `description` is the text of the error. */
export const backTo = (app: App, to: ResponseAddress, description: string): BackLink =>
  backWith(app, to, new OAuthError('access_denied', description))

/** The link back to the application whose authorization request is a local path. Undefined for other paths, and for requests that name no known application. */
export async function wayBack(app: App, request: RequestHead, place: string): Promise<BackLink | undefined> {
  const { path, query } = splitTarget(place)
  if (path !== PATHS.authorize) return undefined
  try {
    const address = await resolveReturnAddress(app, parseParams(query, 'resource'), askerOf(request))
    return backTo(app, address, 'the user did not sign in')
  } catch (error) {
    if (error instanceof OAuthError) return undefined
    throw error
  }
}
