import { readdirSync, readFileSync, statSync } from 'node:fs'
import { request } from 'node:http'
import path from 'node:path'
import { brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { pageRoutes } from '../../src/admin/page.ts'
import type { RequestHead } from '../../src/http/message.ts'
import { packageRoot, pageFolder } from '../../src/lib/paths.ts'
import { startService, type TestService } from '../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

interface Answer {
  status: number
  headers: Record<string, string | string[] | undefined>
  body: Buffer
}
/** Not fetch(), which decompresses. */
const ask = (place: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const asked = request(service.admin + place, { method, headers }, async (response) => {
      const chunks: Buffer[] = []
      for await (const chunk of response) chunks.push(chunk as Buffer)
      resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks) })
    })
    asked.on('error', reject)
    asked.end()
  })
const assetsOf = (html: string): string[] =>
  [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, place = '']) => place)

describe('the admin page', () => {
  test('the admin page is served without a key, at its path and at every path below it', async () => {
    const pages = await Promise.all(
      ['', '/', '/clients', '/clients/https%3A%2F%2Fa.example%2Fb.json?x=1'].map((rest) => ask(`/admin/ui${rest}`)),
    )
    for (const { status, headers, body } of pages) {
      expect([status, headers['content-type']]).toEqual([200, 'text/html; charset=utf-8'])
      expect(body.equals(pages[0]?.body as Buffer)).toBe(true)
    }
  })

  test('the root of the admin listener redirects to the admin page', async () => {
    const { status, headers } = await ask('/')
    expect([status, headers['location']]).toEqual([303, '/admin/ui/'])
  })

  test('the admin page loads only its own files: no inline script or style, no other origin, no frame', async () => {
    const { headers, body } = await ask('/admin/ui/')
    const policy = String(headers['content-security-policy'])
    expect(policy.split('; ').sort()).toEqual(
      [
        "base-uri 'none'",
        "connect-src 'self'",
        "default-src 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "img-src 'self'",
        "require-trusted-types-for 'script'",
        "script-src 'self'",
        "style-src 'self'",
      ].sort(),
    )
    const html = body.toString()
    expect(html).not.toMatch(/<script(?![^>]*\ssrc=)|<style|\sstyle=|\son\w+=/)
    expect(assetsOf(html).every((place) => place.startsWith('/admin/ui/assets/'))).toBe(true)
  })

  test('file names contain a content hash: files are cached permanently, and the page itself is revalidated', async () => {
    const page = await ask('/admin/ui/')
    expect(page.headers['cache-control']).toBe('no-cache')
    for (const place of assetsOf(page.body.toString())) {
      expect(place).toMatch(/-[\w-]{8}\.(js|css|svg)$/)
      const asset = await ask(place)
      expect([asset.status, asset.headers['cache-control']]).toEqual([200, 'public, max-age=31536000, immutable'])
    }
    const again = await ask('/admin/ui/', { 'if-none-match': String(page.headers['etag']) })
    expect([again.status, again.body.length]).toEqual([304, 0])
  })

  test.each([
    ['br, gzip', 'br', brotliDecompressSync],
    ['gzip', 'gzip', gunzipSync],
    ['br;q=0, gzip', 'gzip', gunzipSync],
    ['zstd', undefined, (body: Buffer) => body],
    ['', undefined, (body: Buffer) => body],
  ])('a request with Accept-Encoding "%s" gets the encoding %s', async (accepted, encoding, unpack) => {
    const place = assetsOf((await ask('/admin/ui/')).body.toString()).find((each) => each.endsWith('.js')) as string
    const { headers, body } = await ask(place, { 'accept-encoding': accepted })
    expect([headers['content-encoding'], headers['vary']]).toEqual([encoding, 'Accept-Encoding'])
    const file = path.join(pageFolder, place.slice('/admin/ui/'.length))
    expect(unpack(body).equals(readFileSync(file))).toBe(true)
  })

  test('the admin page answers HEAD and refuses other methods', async () => {
    const head = await ask('/admin/ui/', {}, 'HEAD')
    expect([head.status, head.body.length]).toEqual([200, 0])
    expect((await ask('/admin/ui/', {}, 'POST')).status).toBe(405)
  })

  test.each(['/admin/ui/assets/nothing.js', '/admin/ui/assets/..%2f..%2fbuild.json'])(
    'the admin page answers 404 for %s',
    async (place) => {
      const { status, body } = await ask(place)
      expect([status, body.toString().includes('<!doctype')]).toEqual([404, false])
    },
  )

  test('the admin page has less than 150 kB gzipped in total', () => {
    const files = readdirSync(pageFolder, { recursive: true, encoding: 'utf8' })
      .map((name) => path.join(pageFolder, name))
      .filter((file) => statSync(file).isFile() && !/\.(gz|br)$/.test(file))
    const total = files.reduce((sum, file) => sum + gzipSync(readFileSync(file), { level: 9 }).length, 0)
    expect(total).toBeGreaterThan(10_000)
    expect(total).toBeLessThan(150_000)
  })

  test('the scripts that every page loads are less than 58 kB gzipped, and those of the charts less than 25 kB', () => {
    const weightOf = (names: string[]) =>
      names.reduce((sum, name) => sum + gzipSync(readFileSync(path.join(pageFolder, 'assets', name))).length, 0)
    const html = readFileSync(path.join(pageFolder, 'index.html'), 'utf8')
    const first = [...html.matchAll(/assets\/([^"]+\.js)"/g)].map(([, name = '']) => name)
    const charts = readdirSync(path.join(pageFolder, 'assets')).filter((name) => /^uPlot.*\.js$/.test(name))
    expect([first.length > 0, charts.length]).toEqual([true, 1])
    expect(weightOf(first)).toBeLessThan(58_000)
    expect(weightOf(charts)).toBeLessThan(25_000)
  })

  test('without its built files the admin page says that it was not built', () => {
    const [route] = pageRoutes(path.join(packageRoot, 'no-such-folder'))
    const head = { path: '/admin/ui/', headers: {} } as RequestHead
    expect(() => route?.handle(head as never)).toThrow('the admin page is not built: npm run build')
  })
})
