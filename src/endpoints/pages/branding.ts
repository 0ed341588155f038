// The appearance of the pages for users. It is computed once, at the start, from the keys `ui.*`. Their values are text and files, never HTML.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { ConfigError } from '../../config/load.ts'
import type { Config } from '../../config/schema.ts'
import type { App, Branding, Logo } from '../../context.ts'
import type { Reply } from '../../http/message.ts'
import { OAuthError } from '../../lib/error.ts'
import { html, isolated, Markup } from '../../lib/html.ts'
import { scriptFile } from '../../lib/paths.ts'
import { styleSheet } from './style.ts'

/** The paths of the logo and of the script, below the path of the issuer. */
export const LOGO_PATH = '/ui/logo'
export const SCRIPT_PATH = '/ui/script'

/** The files of the pages. */
interface PageFiles {
  logo?: Logo | undefined
  script?: Buffer | undefined
}

/** Reads the files of the pages. Throws ConfigError as readLogo() does. */
export const readPageFiles = (config: Config): PageFiles => ({
  logo: readLogo(config),
  script: config.webauthn.enabled ? readFileSync(scriptFile) : undefined,
})

/** Makes the parts of every page. A process that serves no pages has no files. */
export function openBranding(config: Config, { logo, script: bytes }: PageFiles): Branding {
  const { server, ui } = config
  const { host } = new URL(server.issuer)
  const name = ui.product_name || host
  const logoUrl = logo && `${server.issuer}${LOGO_PATH}`
  const style = styleSheet(ui)
  const script = bytes && { bytes, path: `${pathOf(config)}${SCRIPT_PATH}/${versionOf(bytes)}.js` }
  return {
    name,
    titleSuffix: ui.product_name && ` · ${ui.product_name}`,
    style: new Markup(style),
    policy: policyOf(style, logoUrl),
    scriptPolicy: policyOf(style, logoUrl, script && new URL(script.path, server.issuer).href),
    script,
    header: logo ? logoImage(config, name, logo) : markWith(ui.product_name),
    logo,
  }
}

/**
 * The content security policy: one style sheet by hash, one image by URL, and on some pages one script by URL. It has no form-action: Chromium applies that to every
 * redirect after a form submission, including redirects of the client's own site.
 */
function policyOf(style: string, logoUrl: string | undefined, script?: string): string {
  const hashOf = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`
  const urlOf = (url: string) => url.replace(/[;,]/g, encodeURIComponent)
  const scripts = script ? `script-src ${urlOf(script)}; ` : ''
  const images = logoUrl ? `img-src ${urlOf(logoUrl)}; ` : ''
  return `default-src 'none'; style-src ${hashOf(style)}; ${scripts}${images}base-uri 'none'; frame-ancestors 'none'`
}

/** The icon of pages without a logo: a key. */
const MARK = new Markup(
  '<svg class="mark" viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true"><circle cx="8" cy="16" r="5"/><path d="m11.5 12.5 9-9m-4 4 3.5 3.5"/></svg>',
)
const markWith = (product: string): Markup =>
  product ? html`<p class="brand">${MARK}<span>${isolated(product)}</span></p>` : MARK

const MAX_LOGO_BYTES = 256 * 1024
const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
/** The start of an SVG document: nothing but a declaration, comments and a plain document type are before its root. */
const SVG = /^\ufeff?\s*(<\?xml[^>]*\?>\s*)?(<!--[^>]*-->\s*|<!doctype svg[^>[]*>\s*)*<svg[\s>]/i

/** Reads the logo. Undefined when none is configured. Throws ConfigError when it cannot be read, is too large, or is neither PNG nor SVG. */
export function readLogo({ ui: { logo_file: file } }: Config): Logo | undefined {
  if (file === '') return undefined
  const fault = (message: string) => new ConfigError([{ key: 'ui.logo_file', message }])
  let bytes: Buffer
  try {
    bytes = readFileSync(file)
  } catch (error) {
    throw fault(`cannot be read: ${(error as Error).message}`)
  }
  if (bytes.length > MAX_LOGO_BYTES) throw fault(`must have at most 256 KiB: ${file} has ${bytes.length} bytes`)
  if (bytes.subarray(0, PNG.length).equals(PNG)) return { type: 'image/png', bytes }
  if (SVG.test(bytes.toString('utf8', 0, 4096))) return { type: 'image/svg+xml', bytes }
  throw fault(`must be a PNG or SVG file: ${file} is neither`)
}

/** The path of the issuer, without a slash at its end. */
const pathOf = ({ server }: Config): string => new URL(server.issuer).pathname.replace(/\/$/, '')

/** The version in a URL, so that browsers do not use a previous file from their cache. */
const versionOf = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex').slice(0, 16)

function logoImage(config: Config, name: string, { bytes }: Logo): Markup {
  return html`<img class="logo" src="${pathOf(config)}${LOGO_PATH}?v=${versionOf(bytes)}" alt="${name}">`
}

/** Serves the script. */
export function showScript({ branding }: App): Reply {
  if (!branding.script) throw new OAuthError('not_found', 'the pages have no script')
  return {
    status: 200,
    headers: {
      'content-type': 'text/javascript; charset=utf-8',
      'cross-origin-resource-policy': 'same-origin',
      'cache-control': 'public, max-age=31536000, immutable',
    },
    body: branding.script.bytes,
  }
}

/** Serves the logo. Opened as a page of its own, an SVG file may neither run scripts nor load anything. */
export function showLogo({ branding }: App): Reply {
  const { logo } = branding
  if (!logo) throw new OAuthError('not_found', 'no logo is configured')
  return {
    status: 200,
    headers: {
      'content-type': logo.type,
      'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox",
      'cross-origin-resource-policy': 'same-origin',
      'cache-control': 'public, max-age=3600',
    },
    body: logo.bytes,
  }
}
