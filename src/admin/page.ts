// Serves the built files of the admin page from memory, without a key. The page contains no data and uses the admin API.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { type Reply, type RequestHead, redirect } from '../http/message.ts'
import type { Route } from '../http/route.ts'
import { unavailable } from '../lib/error.ts'
import { digest } from '../lib/id.ts'
import { pageFolder } from '../lib/paths.ts'

interface File {
  /** By content-encoding, preferred first. */
  bodies: readonly (readonly [encoding: 'br' | 'gzip' | 'identity', body: Buffer])[]
  headers: Readonly<Record<string, string>>
}

const PLACE = '/admin/ui/'
const INDEX = 'index.html'
const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}
/** Only files of this listener; no script or style in the document, no plugin, no frame, no form that goes elsewhere. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ')
const HEADERS = {
  'content-security-policy': POLICY,
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  vary: 'Accept-Encoding',
}
const YEAR = 31_536_000

/** The routes of the admin page. A path below it that is not a file shows the page, which reads the path itself. */
export function pageRoutes(folder = pageFolder): Route[] {
  const files = readFiles(folder)
  const handle = (head: RequestHead): Reply => {
    const name = head.path.startsWith(PLACE) ? head.path.slice(PLACE.length) : ''
    const file = files.get(name) ?? (name.startsWith('assets/') ? undefined : files.get(INDEX))
    if (file) return replyOf(file, head)
    if (files.size === 0) throw unavailable('the admin page is not built: npm run build')
    return {
      status: 404,
      headers: { 'content-type': 'text/plain; charset=utf-8' },
      body: 'This file does not exist.\n',
    }
  }
  const places = ['/admin/ui', PLACE, `${PLACE}{rest...}`].map(
    (place): Route => ({ method: 'GET', path: place, handle }),
  )
  // A browser that opens the root of the listener is sent to the page.
  return [...places, { method: 'GET', path: '/', handle: () => redirect(PLACE) }]
}

function readFiles(folder: string): Map<string, File> {
  if (!existsSync(path.join(folder, INDEX))) return new Map()
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => name.replaceAll(path.sep, '/'))
  const sources = names.filter((name) => path.extname(name) in TYPES)
  return new Map(sources.map((name) => [name, readFile(path.join(folder, name), name)]))
}

function readFile(full: string, name: string): File {
  const identity = readFileSync(full)
  const packed = [
    ['br', `${full}.br`],
    ['gzip', `${full}.gz`],
  ] as const
  return {
    bodies: [
      ...packed
        .filter(([, file]) => existsSync(file))
        .map(([encoding, file]) => [encoding, readFileSync(file)] as const),
      ['identity', identity],
    ],
    headers: {
      ...HEADERS,
      'content-type': TYPES[path.extname(name)] as string,
      etag: `W/"${digest(identity.toString('latin1')).slice(0, 22)}"`,
      // The names of assets contain a hash of their content.
      'cache-control': name === INDEX ? 'no-cache' : `public, max-age=${YEAR}, immutable`,
    },
  }
}

function replyOf({ bodies, headers }: File, head: RequestHead): Reply {
  const { 'if-none-match': known, 'accept-encoding': accepted = '' } = head.headers
  if (known !== undefined && known === headers['etag']) return { status: 304, headers: { ...headers }, body: '' }
  const taken = accepted
    .split(',')
    .filter((each) => !/;\s*q=0(\.0*)?\s*$/.test(each))
    .map((each) => each.split(';')[0]?.trim())
  const [encoding, body] = bodies.find(
    ([each]) => each === 'identity' || taken.includes(each),
  ) as File['bodies'][number]
  return {
    status: 200,
    headers: { ...headers, ...(encoding === 'identity' ? {} : { 'content-encoding': encoding }) },
    body,
  }
}
