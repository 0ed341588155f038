// What the service is measured beside: oidc-provider of the checkout, and any server that is running on loopback.
import { randomBytes } from 'node:crypto'
import path from 'node:path'
import { loopbackUrl } from '../load/loopback.ts'
import {
  authorizeQuery,
  type BenchClients,
  type BenchTarget,
  freePort,
  hotAndCold,
  REDIRECT_URI,
  RESOURCE,
  SCOPE,
  VERIFIER,
} from '../load/target.ts'
import { YARDSTICK } from '../report/report.ts'
import { nextMessage, startFile, stop, tempDir } from '../run/children.ts'
import type { PeerPlan } from './peer.ts'
import type { YardstickPlan } from './yardstick.ts'

const START_SECONDS = 30
const OIDC_PROVIDER = 'oidc-provider'

/** Starts oidc-provider with clients as the service has them. */
export async function startPeer(clients: BenchClients): Promise<BenchTarget> {
  const port = await freePort()
  const plan: PeerPlan = {
    port,
    base: `http://127.0.0.1:${port}`,
    machines: Array.from({ length: clients.hot + clients.cold }, (_, i) => ({
      client_id: `machine-${i}`,
      client_secret: randomBytes(32).toString('base64url'),
    })),
    app: { client_id: 'app', redirect_uri: REDIRECT_URI },
    scope: SCOPE,
    resource: RESOURCE,
    opaqueResource: `${RESOURCE}/opaque`,
    authorizePath: '/bench/authorize',
  }
  const run = async () => {
    const started = startFile('peer', plan)
    await nextMessage(started, START_SECONDS)
    return started
  }
  let child = await run()
  return {
    ...hotAndCold(plan.machines, clients),
    name: OIDC_PROVIDER,
    base: plan.base,
    paths: { token: '/token', introspection: '/token/introspection' },
    scope: SCOPE,
    resource: RESOURCE,
    signedIn: {
      app: plan.app,
      authorizePath: `${plan.authorizePath}?${authorizeQuery(plan.app, RESOURCE)}`,
      cookie: '',
      verifier: VERIFIER,
    },
    introspectedResource: plan.opaqueResource,
    probe: () => ({ pid: child.pid }),
    async restart() {
      await stop(child)
      child = await run()
    },
    stop: () => stop(child),
  }
}

/** Starts what shows how fast the machine is just then: HTTP, signatures and commits as the service has them, and nothing else. */
export async function startYardstick(clients: BenchClients): Promise<BenchTarget> {
  const port = await freePort()
  const base = `http://127.0.0.1:${port}`
  const file = path.join(tempDir(), 'yardstick.db')
  const plan: YardstickPlan = { port, issuer: base, resource: RESOURCE, scope: SCOPE, file }
  const child = startFile('yardstick', plan)
  await nextMessage(child, START_SECONDS)
  return {
    // It knows none of them.
    machines: Array.from({ length: clients.hot }, (_, i) => ({
      client_id: `machine-${i}`,
      client_secret: 'x'.repeat(43),
    })),
    coldMachines: [],
    name: YARDSTICK,
    isYardstick: true,
    base,
    paths: { token: '/oauth/token' },
    scope: SCOPE,
    resource: RESOURCE,
    probe: () => ({ pid: child.pid }),
    stop: () => stop(child),
  }
}

/** A server that somebody else started, as `--peer` names it. */
export interface ForeignPeer {
  name: string
  base: string
  tokenPath: string
  client: { client_id: string; client_secret: string }
  scope?: string
}

const PEER = /^([\w.-]+)=(https?:\/\/[^,]+),([^,]+),([^,]+),([^,]+)(?:,(.+))?$/
export const PEER_SYNTAX = 'name=URL,token-path,client_id,client_secret[,scope]'

/** Reads a `--peer`. Throws unless it is written as PEER_SYNTAX and on loopback. */
export function parsePeer(text: string): ForeignPeer {
  const [, name, url, tokenPath, client_id, client_secret, scope] = PEER.exec(text) ?? []
  if (!name || !url || !tokenPath || !client_id || !client_secret) throw new Error(`--peer is written ${PEER_SYNTAX}`)
  return { name, base: loopbackUrl(url).origin, tokenPath, client: { client_id, client_secret }, scope }
}

/** What speaks against the peers of a run, a sentence for each fault: in the report they are told apart by their names. */
export function peerFaults(peers: readonly ForeignPeer[]): string[] {
  const names = ['service', YARDSTICK, OIDC_PROVIDER, ...peers.map(({ name }) => name)]
  const twice = new Set(names.filter((name, i) => names.indexOf(name) !== i))
  return [...twice].map((name) => `--peer ${name}: two servers of a run have that name`)
}

/** The target for it: what can be asked with one machine client. */
export const foreignTarget = ({ name, base, tokenPath, client, scope }: ForeignPeer): BenchTarget => ({
  name,
  base,
  paths: { token: tokenPath },
  machines: [client],
  coldMachines: [],
  scope,
  probe: () => ({}),
  stop: async () => {},
})
