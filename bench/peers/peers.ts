// Servers that are measured besides the service: oidc-provider of the checkout, and servers that run on loopback.
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
import { peerNode } from './peer_node.ts'
import type { YardstickPlan } from './yardstick.ts'

const START_SECONDS = 30
const OIDC_PROVIDER = 'oidc-provider'

/** Starts oidc-provider with the same clients as the service. `node` is the version of Node that runs it. */
export async function startPeer(clients: BenchClients): Promise<BenchTarget & { node: string }> {
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
  const node = peerNode()
  const run = async () => {
    const started = startFile('peer', plan, undefined, node.program)
    await nextMessage(started, START_SECONDS)
    return started
  }
  let child = await run()
  return {
    ...hotAndCold(plan.machines, clients),
    name: OIDC_PROVIDER,
    node: node.version,
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

/** Starts the yardstick, which shows the current speed of the machine: HTTP, signatures and commits as in the service, and nothing else. */
export async function startYardstick(clients: BenchClients): Promise<BenchTarget> {
  const port = await freePort()
  const base = `http://127.0.0.1:${port}`
  const file = path.join(tempDir(), 'yardstick.db')
  const plan: YardstickPlan = { port, issuer: base, resource: RESOURCE, scope: SCOPE, file }
  const child = startFile('yardstick', plan)
  await nextMessage(child, START_SECONDS)
  return {
    // The yardstick knows no clients.
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

/** A running server that `--peer` names. */
export interface ForeignPeer {
  name: string
  base: string
  tokenPath: string
  client: { client_id: string; client_secret: string }
  scope?: string
}

const PEER = /^([\w.-]+)=(https?:\/\/[^,]+),([^,]+),([^,]+),([^,]+)(?:,(.+))?$/
export const PEER_SYNTAX = 'name=URL,token-path,client_id,client_secret[,scope]'

/** Parses a `--peer`. Throws unless it has the form of PEER_SYNTAX and is on loopback. */
export function parsePeer(text: string): ForeignPeer {
  const [, name, url, tokenPath, client_id, client_secret, scope] = PEER.exec(text) ?? []
  if (!name || !url || !tokenPath || !client_id || !client_secret)
    throw new Error(`--peer must have the form ${PEER_SYNTAX}`)
  return { name, base: loopbackUrl(url).origin, tokenPath, client: { client_id, client_secret }, scope }
}

/** Checks the names of the peers of a run, and returns a sentence for each fault: names must be unique in the report. */
export function peerFaults(peers: readonly ForeignPeer[]): string[] {
  const names = ['service', YARDSTICK, OIDC_PROVIDER, ...peers.map(({ name }) => name)]
  const twice = new Set(names.filter((name, i) => names.indexOf(name) !== i))
  return [...twice].map((name) => `--peer ${name}: two servers of a run have that name`)
}

/** The target of a peer, with the workloads that one confidential client allows. */
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
