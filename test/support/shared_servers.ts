// One PostgreSQL and one Chromium for the whole run: the process that starts the test processes has them, and starts each when the
// first test file asks for it. Asked over HTTP on loopback, because test files are in other processes.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { chromium } from 'playwright-core'
import type { TestProject } from 'vitest/node'
import { startPrivatePostgres } from '../../bench/peers/postgres_server.ts'
import { findChromium } from './find_chromium.ts'
import { createTemplate } from './migrated_database.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** The address that starts a shared server. */
    sharedServers: string
  }
}

/** The answer about a shared server; empty when this machine has none. */
interface Shared {
  address: string
  close(): Promise<void>
}

const starts = {
  async '/postgres'(): Promise<Shared> {
    const { dsn, remove } = await startPrivatePostgres({ fsync: false })
    await createTemplate(dsn)
    return { address: dsn, close: remove }
  },
  async '/chromium'(): Promise<Shared> {
    const executablePath = findChromium()
    if (executablePath === undefined) return { address: '', close: async () => {} }
    // Containers often lack what the sandbox and /dev/shm need, and only our own pages are opened.
    const server = await chromium.launchServer({ executablePath, args: ['--no-sandbox', '--disable-dev-shm-usage'] })
    return { address: server.wsEndpoint(), close: () => server.close() }
  },
}
export type SharedServer = keyof typeof starts

/** The global set-up of vitest. The returned function runs after the last test. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const started = new Map<SharedServer, Promise<Shared>>()
  const isShared = (url: string | undefined): url is SharedServer => url !== undefined && url in starts
  const addressOf = async (url: string | undefined): Promise<string> => {
    if (!isShared(url)) throw new Error(`there is no shared server ${url}`)
    const known = started.get(url) ?? starts[url]()
    started.set(url, known)
    return (await known).address
  }
  const desk = createServer((request, response) => {
    addressOf(request.url).then(
      (address) => response.end(address),
      (error) => response.writeHead(500).end(String(error)),
    )
  })
  desk.listen(0, '127.0.0.1')
  await once(desk, 'listening')
  project.provide('sharedServers', `http://127.0.0.1:${(desk.address() as AddressInfo).port}`)
  return async () => {
    desk.close()
    desk.closeAllConnections()
    for (const shared of await Promise.allSettled(started.values()))
      if (shared.status === 'fulfilled') await shared.value.close()
  }
}
