// GET and POST /device (RFC 8628 §3.3): a signed-in user enters the user code of a device. The consent page then decides.
import type { App } from '../context.ts'
import { parseForm, parseParams, type Reply, type Request, redirect } from '../http/message.ts'
import { OAuthError } from '../lib/error.ts'
import { audit } from '../oauth/audit.ts'
import { isUrlShaped, resolveDocumentClient } from '../oauth/clients/cimd.ts'
import { type Asker, askerOf } from '../oauth/clients/client_standing.ts'
import { resolveClient } from '../oauth/clients/find_client.ts'
import { PATHS } from '../oauth/metadata.ts'
import {
  guessKeys,
  parseUserCode,
  returnGuess,
  shownUserCode,
  takeGuess,
  userCodeHashes,
} from '../oauth/sign_in/device.ts'
import { decideAccess } from '../oauth/tokens/access.ts'
import { scopeNames } from '../oauth/tokens/resource.ts'
import type { Client } from '../records/client.ts'
import type { PolledRequest } from '../records/polled_request.ts'
import { personOf } from '../records/user.ts'
import { requestOf } from './decision.ts'
import { refuseDeviceAccess } from './pages/access_refused.ts'
import { answerUnapproved } from './pages/approval.ts'
import { type CodeProblem, codePage, DEVICE_FORM } from './pages/device_page.ts'
import { basePath, loginUrl, pathAndQuery, toLogin } from './pages/urls.ts'
import { consentPlace, sealPlace } from './pending_request.ts'
import { actorOf, browserOf, checkForm, findSignedIn, type SignedIn } from './session.ts'

/** The page for the code. The code of a complete verification URI is filled in, and the user sends it. */
export async function showDevice(app: App, request: Request): Promise<Reply> {
  const signedIn = await findSignedIn(app, request)
  if (!signedIn) return toLogin(app, request, pathAndQuery(request))
  const code = parseUserCode(parseParams(request.query).user_code ?? '')
  return codePage(app, request, signedIn, code && shownUserCode(code))
}

/** Takes the code: a redirect to the consent page, or the page again with what is wrong. */
export async function enterUserCode(app: App, request: Request): Promise<Reply> {
  const form = parseForm(request)
  const signedIn = await findSignedIn(app, request)
  if (!signedIn) return toLogin(app, request, devicePlace(form.user_code))
  checkForm(app, request, signedIn, DEVICE_FORM, form.csrf_token)
  const refuse = (problem: CodeProblem) => {
    app.metrics.count('ext_device_user_codes_total', { result: problem.kind })
    request.notes.refusal = new OAuthError(problem.kind === 'limited' ? 'slow_down' : 'invalid_grant', problem.kind, {
      reason: `user_code_${problem.kind}`,
    })
    return codePage(app, request, signedIn, form.user_code, problem)
  }
  const keys = guessKeys(signedIn.session.id, request.remote)
  const wait = await takeGuess(app, keys)
  if (wait > 0) return refuse({ kind: 'limited', wait })
  const device = await findDevice(app, form.user_code)
  if (!device) {
    // The limit also bounds the number of these events.
    await audit(app, { action: 'user_code_rejected', ...actorOf(request, signedIn) })
    return refuse({ kind: 'unknown' })
  }
  await returnGuess(app, keys)
  request.notes.client_id = device.client_id
  const reply = await claim(app, request, signedIn, device, form.user_code)
  if (!reply) return refuse({ kind: 'unknown' })
  app.metrics.count('ext_device_user_codes_total', { result: 'known' })
  return reply
}

async function findDevice(app: App, typed: string | undefined): Promise<PolledRequest | undefined> {
  const code = parseUserCode(typed ?? '')
  if (code === undefined) return undefined
  const now = app.clock.now()
  for (const user_code_hash of userCodeHashes(app, code)) {
    const found = await app.store.findPolledRequestByUserCode({ user_code_hash, now })
    if (found) return found
  }
  return undefined
}

/** Redirects to the consent page, or refuses a user whom an access rule excludes. Undefined when the request was decided meanwhile. */
async function claim(
  app: App,
  request: Request,
  signedIn: SignedIn,
  device: PolledRequest,
  typed: string | undefined,
): Promise<Reply | undefined> {
  const { user } = signedIn
  const described = await describedClientOf(app, askerOf(request, user), device)
  const client = described ?? (await resolveClient(app, device.client_id))
  const resource = device.resource === undefined ? undefined : await app.store.findResource({ uri: device.resource })
  const asked = scopeNames(device.scope)
  const { scope, refused_by } = resource
    ? decideAccess(resource, personOf(user), asked, signedIn.session)
    : { scope: asked }
  if (resource && refused_by) {
    const another = await loginUrl(app, request, PATHS.device, true)
    return refuseDeviceAccess(app, request, device.client_id, { user, resource, rule: refused_by, another })
  }
  const unapproved = client && (await answerUnapproved(app, request, { client, resource, user }))
  if (unapproved) return unapproved
  const now = app.clock.now()
  const { key, cookie } = browserOf(app, request)
  const sealed = await sealPlace(key, devicePlace(typed))
  const pending = { ...requestOf(device, signedIn, scope, now), client: described, sealed }
  if (!(await app.store.claimPolledRequest({ request: pending, now }))) return undefined
  return redirect(basePath(app) + consentPlace(request, device.id), { 'set-cookie': cookie })
}

/** The local path of the page for the code, with a code that was entered. */
const devicePlace = (typed = ''): string => {
  const code = parseUserCode(typed)
  return code === undefined ? PATHS.device : `${PATHS.device}?user_code=${shownUserCode(code)}`
}

/** The client of a document that is not stored yet, as the consent page will show it. Throws as resolveDocumentClient(). */
async function describedClientOf(app: App, asker: Asker, { client_id }: PolledRequest): Promise<Client | undefined> {
  if ((await resolveClient(app, client_id)) || !isUrlShaped(client_id)) return undefined
  return resolveDocumentClient(app, client_id, asker)
}
