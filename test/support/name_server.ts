// A name server on loopback (UDP, RFC 1035): some names have addresses, some hang, all others do not exist. Processes use it in
// a mount namespace with a resolv.conf of its own, which glibc and c-ares both read.

import { spawnSync } from 'node:child_process'
import { createSocket, type RemoteInfo } from 'node:dgram'
import dns from 'node:dns'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { isIP } from 'node:net'
import path from 'node:path'
import { onTestFinished } from 'vitest'
import { tempFolder } from './folder.ts'

/** The answer for a name: addresses, or none at all. */
type Held = readonly string[] | 'hangs'

const [A, AAAA] = [1, 28]
const NXDOMAIN = 3

export class NameServer {
  /** By name, in lower case. A name that begins with `hang` hangs. */
  readonly names = new Map<string, Held>()
  /** Stops answering. */
  silent = false
  /** Leaves questions for addresses of one kind unanswered. */
  unanswered: 'A' | 'AAAA' | undefined
  /** The queried names, once for each query. */
  readonly asked: string[] = []
  private readonly socket = createSocket('udp4')

  /** Starts a name server. A resolv.conf can name only port 53. */
  static async start(address = '127.0.0.1', port = 0): Promise<NameServer> {
    const server = new NameServer()
    server.socket.on('message', (message, from) => server.answer(message, from))
    server.socket.bind(port, address)
    await once(server.socket, 'listening')
    return server
  }

  /** For Resolver.setServers(). */
  get address(): string {
    const { address, port } = this.socket.address()
    return `${address}:${port}`
  }

  private answer(query: Buffer, from: RemoteInfo): void {
    const labels: string[] = []
    let at = 12
    for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
      labels.push(query.toString('latin1', at + 1, at + 1 + length))
      at += 1 + length
    }
    const name = labels.join('.').toLowerCase()
    const type = query.readUInt16BE(at + 1)
    const question = query.subarray(12, at + 5)
    this.asked.push(name)
    const held = this.names.get(name) ?? (name.startsWith('hang') ? 'hangs' : undefined)
    const isLeft = this.unanswered === (type === A ? 'A' : 'AAAA')
    if (this.silent || isLeft || held === 'hangs') return
    const fitting = (held ?? []).filter((address) => type === (isIP(address) === 6 ? AAAA : type === A ? A : 0))
    const head = Buffer.alloc(12)
    query.copy(head, 0, 0, 2)
    head.writeUInt16BE(0x8180 | (held ? 0 : NXDOMAIN), 2)
    head.writeUInt16BE(1, 4)
    head.writeUInt16BE(fitting.length, 6)
    this.socket.send(Buffer.concat([head, question, ...fitting.map(record)]), from.port, from.address)
  }

  close(): void {
    this.socket.close()
  }
}

/** An A or AAAA record of the name in the question, for a second. */
function record(address: string): Buffer {
  const isV6 = isIP(address) === 6
  const data = isV6 ? bytesOfV6(address) : Buffer.from(address.split('.').map(Number))
  const head = Buffer.alloc(12)
  head.writeUInt16BE(0xc00c, 0)
  head.writeUInt16BE(isV6 ? AAAA : A, 2)
  head.writeUInt16BE(1, 4)
  head.writeUInt32BE(1, 6)
  head.writeUInt16BE(data.length, 10)
  return Buffer.concat([head, data])
}

function bytesOfV6(address: string): Buffer {
  const [left = '', right = ''] = address.split('::')
  const groups = (text: string) => text.split(':').filter(Boolean)
  const zeros = Array(8 - groups(left).length - groups(right).length).fill('0')
  const all = address.includes('::') ? [...groups(left), ...zeros, ...groups(right)] : groups(address)
  return Buffer.concat(all.map((group) => Buffer.from(group.padStart(4, '0'), 'hex')))
}

const { Resolver } = dns.promises

/** Makes c-ares in this process query `server` until the test ends, as if resolv.conf named the server. */
export function askOnly(server: NameServer): void {
  class AskingOne extends Resolver {
    constructor(options?: dns.ResolverOptions) {
      super(options)
      this.setServers([server.address])
    }
  }
  Object.assign(dns.promises, { Resolver: AskingOne })
  onTestFinished(() => void Object.assign(dns.promises, { Resolver }))
}

/** Why this machine cannot run a name server for another process; undefined if it can. */
export function whyNoNamespace(): string | undefined {
  if (process.platform !== 'linux') return 'needs mount namespaces, which are of Linux'
  const tried = spawnSync('unshare', ['-m', 'mount', '--bind', '/etc/resolv.conf', '/etc/resolv.conf'])
  return tried.status === 0 ? undefined : 'needs the right to make a mount namespace (root)'
}

/** A name server, and the command that executes another one with it as the only name server. */
export async function startPrivateNames(): Promise<{ server: NameServer; prefix: string[] }> {
  const byte = () => 1 + Math.floor(Math.random() * 250)
  const address = `127.${byte()}.${byte()}.${byte()}`
  const server = await NameServer.start(address, 53)
  onTestFinished(() => server.close())
  const folder = tempFolder()
  const [resolv, nsswitch] = [path.join(folder, 'resolv.conf'), path.join(folder, 'nsswitch.conf')]
  writeFileSync(resolv, `nameserver ${address}\noptions timeout:5 attempts:2\n`)
  writeFileSync(nsswitch, 'hosts: files dns\n')
  const mount = (file: string) => `mount --bind ${file} /etc/${path.basename(file)}`
  const prefix = ['unshare', '-m', 'sh', '-c', `${mount(resolv)} && ${mount(nsswitch)} && exec "$@"`, 'sh']
  return { server, prefix }
}
