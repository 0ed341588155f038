// A product of others, unmodified from a registry, that is connected to the service. `npm run products` runs them by hand; each writes its
// row for docs/reference/products.md, with the titles of its tests and the day.
import { spawn } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, describe, test } from 'vitest'
import { packageRoot } from '../../src/lib/paths.ts'
import type { ProductRow } from '../../tools/reference/products.ts'
import type { Toolchain } from '../interop/toolchain.ts'
import { Browser } from '../support/browser.ts'
import { atEndOfFile } from '../support/end_of_file.ts'
import { walk } from '../support/flow.ts'
import { addUser, type TestService } from '../support/service.ts'
import { pause } from '../support/wire.ts'

type Product = Omit<ProductRow, 'worked' | 'date'>

type Works = (what: string, run: () => Promise<void>) => void

/** The tests of a product. Their titles say what works. The row is written when all of them have passed. */
export function describeProduct(product: Product, toolchain: Toolchain, tests: (works: Works) => void): void {
  describe.skipIf('missing' in toolchain)(`${product.name} ${product.version}`, () => {
    const [asked, worked]: [string[], string[]] = [[], []]
    tests((what, run) => {
      asked.push(what)
      test(what, async () => {
        await run()
        worked.push(what)
      })
    })
    afterAll(() => {
      if (worked.length < asked.length) return
      const row: ProductRow = { ...product, worked, date: new Date().toISOString().slice(0, 10) }
      const folder = path.join(packageRoot, 'test/products/results')
      mkdirSync(folder, { recursive: true })
      const file = `${(product.name.toLowerCase().match(/\w+/g) ?? []).join('_')}.json`
      writeFileSync(path.join(folder, file), `${JSON.stringify(row, undefined, 2)}\n`)
    })
  })
}

/** The command of a tool chain, which is there: the tests of a product that is missing are skipped. */
export const commandOf = (toolchain: Toolchain): string[] => ('command' in toolchain ? toolchain.command : [])

/** Starts a server, and waits until it answers at a URL. It ends with the test file. */
export async function startProgram(
  [program = '', ...args]: readonly string[],
  url: string,
  env: Record<string, string> = {},
): Promise<void> {
  const child = spawn(program, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
  let said = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      said = (said + text).slice(-4000)
    })
  atEndOfFile(() => void child.kill('SIGKILL'))
  const isThere = () =>
    fetch(url, { redirect: 'manual' }).then(
      () => true,
      () => false,
    )
  while (!(await isThere())) {
    if (child.exitCode !== null) throw new Error(`${program} has ended: ${said}`)
    await pause(100)
  }
}

/** Signs a new user in at an application, from one of its pages and back. Returns the user and the page. */
export async function signInAt(service: TestService, url: string) {
  const [user, browser] = [await addUser(service), new Browser({ accept: 'text/html, */*' })]
  const { location = '' } = await browser.follow(url)
  const callback = await walk(service, location, user, browser)
  return { user, page: await browser.follow(callback.href) }
}
