// A provider behind the broker, on loopback: codes with PKCE, refresh tokens that rotate and are accepted once, a record of
// all its requests, and switches for every fault of a provider.
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { newId } from '../../src/lib/id.ts'
import { atEndOfFile } from './end_of_file.ts'
import { oauthConfigData } from './records.ts'

export const UPSTREAM_SECRET = 'upstream-client-secret-0123456789'
/** Variables of a service with the secrets of all test providers. */
export const UPSTREAM_ENV = { CONNECTOR_UPSTREAM_SECRET: UPSTREAM_SECRET }

export interface Question {
  path: string
  form: Record<string, string>
  headers: IncomingMessage['headers']
}

type Form = Record<string, string>
const s256 = (text: string) => createHash('sha256').update(text).digest('base64url')

export class Upstream {
  /** Requests to its token and revocation endpoints. */
  readonly asked: Question[] = []
  /** Every issued access token. */
  readonly given: string[] = []
  /** The scope of each issued access token. */
  readonly scopes = new Map<string, string>()
  /** The valid refresh tokens, with their scope. */
  readonly live = new Map<string, string>()
  /** The lifetime of access tokens in seconds; undefined omits it from responses. */
  expiresIn: number | undefined = 3600
  /** Whether it issues refresh tokens. */
  refreshes = true
  rotates = true
  format: 'standard' | 'form' = 'standard'
  /** The granted scope, if it differs from the requested one; null omits it from responses. */
  granted?: string | null
  /** Loses its responses after it has processed the requests. */
  loses?: 'cut' | '502' | 'no JSON'
  /** Accepts a rotated refresh token again. */
  forgives = false
  /** A handler that replaces its token endpoint. */
  answer?: (form: Form, response: ServerResponse) => void
  /** The token endpoint answers after this promise. */
  gate?: Promise<unknown>
  private readonly codes = new Map<string, { scope: string; challenge: string; redirect_uri: string }>()
  private readonly server = createServer((request, response) => void this.serve(request, response))

  /** Starts a provider. It is closed when the test file ends. */
  static async start(): Promise<Upstream> {
    const upstream = new Upstream()
    atEndOfFile(() => upstream.close())
    upstream.server.listen(0, '127.0.0.1')
    await once(upstream.server, 'listening')
    return upstream
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`
  }

  /** Delays tokens from now on. Returns a function that releases them. */
  hold(): () => void {
    let open: () => void = () => {}
    this.gate = new Promise<void>((resolve) => {
      open = resolve
    })
    return open
  }

  /** The config_data of this provider. */
  config(more: Record<string, unknown> = {}) {
    const endpoints = { authorize_url: `${this.url}/authorize`, token_url: `${this.url}/token` }
    return oauthConfigData({ ...endpoints, ...more })
  }

  /** The refresh requests at its token endpoint. */
  get refreshed(): Question[] {
    return this.asked.filter(({ form }) => form['grant_type'] === 'refresh_token')
  }

  /** The user allows the request: returns the redirect URL with a code. */
  approve(authorizeUrl: string): string {
    const { searchParams: query } = new URL(authorizeUrl)
    const code = newId()
    const redirect_uri = query.get('redirect_uri') ?? ''
    const challenge = query.get('code_challenge') ?? ''
    this.codes.set(code, { scope: query.get('scope') ?? '', challenge, redirect_uri })
    return `${redirect_uri}?${new URLSearchParams({ code, state: query.get('state') ?? '' })}`
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = ''
    for await (const chunk of request) text += chunk
    const form = Object.fromEntries(new URLSearchParams(text))
    const path = request.url ?? ''
    this.asked.push({ path, form, headers: request.headers })
    if (path === '/revoke') return void response.writeHead(200).end()
    if (this.answer) return this.answer(form, response)
    await this.gate
    const found = this.answerTo(form)
    if (this.loses === 'cut') return void response.destroy()
    if (this.loses) return void response.writeHead(this.loses === '502' ? 502 : 200).end('<html>')
    const body =
      this.format === 'form' ? new URLSearchParams(found.body as Form).toString() : JSON.stringify(found.body)
    const type = this.format === 'form' ? 'application/x-www-form-urlencoded' : 'application/json'
    response.writeHead(found.status, { 'content-type': type }).end(body)
  }

  private answerTo(form: Form): { status: number; body: Record<string, unknown> } {
    const refuse = (error: string) => ({
      status: 400,
      body: { error, error_description: `${form['refresh_token']} hush` },
    })
    if (form['grant_type'] === 'authorization_code') {
      const code = this.codes.get(form['code'] ?? '')
      this.codes.delete(form['code'] ?? '')
      const isRight =
        code?.challenge === s256(form['code_verifier'] ?? '') && code?.redirect_uri === form['redirect_uri']
      return code && isRight ? this.give(code.scope) : refuse('invalid_grant')
    }
    const token = form['refresh_token'] ?? ''
    const scope = this.live.get(token)
    if (form['grant_type'] !== 'refresh_token' || scope === undefined) return refuse('invalid_grant')
    if (this.rotates && !this.forgives) this.live.delete(token)
    return this.give(scope, form['scope'], this.rotates)
  }

  private give(scope: string, asked = scope, rotated = true) {
    const granted = this.granted === undefined ? asked : this.granted
    const access_token = `up-access-${newId()}`
    const refresh_token = this.refreshes && rotated ? `up-refresh-${newId()}` : undefined
    if (refresh_token) this.live.set(refresh_token, scope)
    this.given.push(access_token)
    this.scopes.set(access_token, granted ?? asked)
    const body = {
      access_token,
      token_type: 'bearer',
      ...(refresh_token ? { refresh_token } : {}),
      ...(this.expiresIn === undefined ? {} : { expires_in: String(this.expiresIn) }),
      ...(granted === null ? {} : { scope: granted }),
    }
    return {
      status: 200,
      body: this.format === 'form' || this.expiresIn === undefined ? body : { ...body, expires_in: this.expiresIn },
    }
  }

  close(): void {
    this.server.close()
    this.server.closeAllConnections()
  }
}
