// Obtains the codes and tokens that a workload needs, in the same way as clients and browsers.
import type { LoadConnection } from './connection.ts'

/** A user who is signed in and has consented, at the client that is redirected to. */
export interface Login {
  /** Path whose answer is a redirect with a code. */
  authorizePath: string
  cookie: string
  tokenPath: string
  /** Urlencoded parameters of the client for a code, and for a refresh token. */
  codeForm: string
  refreshForm: string
}

/** The form that redeems a new code. */
export async function newCodeForm(
  { authorizePath, cookie, codeForm }: Login,
  connection: LoadConnection,
): Promise<string> {
  const { head, status, body } = await connection.get(authorizePath, cookie && `cookie: ${cookie}\r\n`)
  const code = /\r\nlocation:[^\r]*[?&]code=([^&\r]+)/i.exec(head)?.[1]
  if (!code) throw new Error(`no code from ${authorizePath}: ${status} ${head.slice(0, 500)} ${body.slice(0, 300)}`)
  return `${codeForm}&code=${code}`
}

/** The header line of a DPoP proof. */
export const proofHeader = (proof: string): string => `dpop: ${proof}\r\n`

/** Posts a token request; `proof` is its DPoP proof. Returns the body of the answer. */
export async function obtainToken(
  connection: LoadConnection,
  path: string,
  form: string,
  proof?: string,
): Promise<string> {
  const { status, body } = await connection.post(path, form, proof && proofHeader(proof))
  if (status !== 200) throw new Error(`no token from ${path}: ${status} ${body.slice(0, 500)}`)
  return body
}

/** A token in the body of an answer. */
export function tokenIn(body: string, kind: 'access_token' | 'refresh_token'): string {
  const token = new RegExp(`"${kind}":"([^"]+)"`).exec(body)?.[1]
  if (!token) throw new Error(`no ${kind} in ${body.slice(0, 500)}`)
  return token
}

/** Runs `make` for about `count` results on all connections concurrently. It receives the number of its connection. */
export async function onAll<R>(
  connections: readonly LoadConnection[],
  count: number,
  make: (connection: LoadConnection, number: number) => Promise<R>,
): Promise<R[]> {
  const made: R[] = []
  let left = count
  await Promise.all(
    connections.map(async (connection, number) => {
      while (left-- > 0) made.push(await make(connection, number))
    }),
  )
  return made
}

/** A source of new access tokens of the user: every connection refreshes its last token. */
export function userTokens(
  login: Login,
  connections: readonly LoadConnection[],
): (count: number) => Promise<readonly string[]> {
  const refreshTokens: string[] = []
  return (count) =>
    onAll(connections, count, async (connection, number) => {
      const held = refreshTokens[number]
      const form = held ? `${login.refreshForm}&refresh_token=${held}` : await newCodeForm(login, connection)
      const body = await obtainToken(connection, login.tokenPath, form)
      refreshTokens[number] = tokenIn(body, 'refresh_token')
      return tokenIn(body, 'access_token')
    })
}
