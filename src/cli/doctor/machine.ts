// Checks that need no running server: configuration, files, the native HTTP engine.
import { existsSync, type Stats, statfsSync, statSync } from 'node:fs'
import path from 'node:path'
import { type Finding, fail, ok, warn } from '../../admin/finding.ts'
import type { LoadedConfig } from '../../config/load.ts'
import { idleTimeoutWarnings, isAdminExposed, settingWarnings } from '../../config/notices.ts'
import { DEFAULT_REQUEST_RATE } from '../../config/rate_limit_keys.ts'
import type { Config } from '../../config/schema.ts'
import { readLogo } from '../../endpoints/pages/branding.ts'
import { splitAddress } from '../../http/listener.ts'
import { loadNative } from '../../http/uws.ts'
import { isLocalhost, isLoopbackHost } from '../../lib/url.ts'
import { relyingPartyId } from '../../oauth/sign_in/second_factor.ts'

/** Free space is enough with this much, or with this share of a small disk. */
const [LEAST_FREE_BYTES, LEAST_FREE_SHARE] = [1024 ** 3, 0.1]
/** Permission bits of the group and of other users. */
const OTHERS = 0o077

/** Checks a configuration as it was loaded. */
export function checkMachine({ config, warnings, given }: LoadedConfig): Finding[] {
  const isNative = config.server.http_engine !== 'node' && loadNative() !== undefined
  const unsafe = [...warnings, ...settingWarnings(config), ...idleTimeoutWarnings(config, given, isNative)]
  return [
    unsafe.length === 0 ? ok('configuration', 'no key is unknown, missing or unsafe') : [],
    unsafe.map((message) => warn('configuration', message, 'see docs/reference/configuration.md')),
    logo(config),
    engine(config),
    requestLimit(config),
    passkeys(config),
    config.storage.driver === 'sqlite' ? database(path.resolve(config.storage.sqlite.path)) : [],
    adminAddress(config),
  ].flat()
}

/** `serve` does not start without a logo that is configured. */
function logo(config: Config): Finding | Finding[] {
  try {
    return readLogo(config) ? ok('logo', config.ui.logo_file) : []
  } catch (error) {
    return fail('logo', (error as Error).message, 'correct ui.logo_file: `serve` does not start without the file')
  }
}

/** The limit on all requests is easily forgotten: its default is low for production. */
function requestLimit({ rate_limit, server }: Config): Finding {
  const { enabled, requests_per_second, burst } = rate_limit
  const said = `rate_limit.requests_per_second is ${requests_per_second} for all callers together (burst ${burst}); beside others one address gets at most four fifths`
  if (!enabled) return ok('request limit', 'rate_limit.enabled is false: requests are not limited')
  if (isLocalhost(server.issuer) || requests_per_second > DEFAULT_REQUEST_RATE) return ok('request limit', said)
  return warn(
    'request limit',
    said,
    'set it above the peak of all requests: `service plan` names the rate of a machine',
  )
}

/** Browsers make no passkeys for addresses. */
function passkeys(config: Config): Finding {
  if (!config.webauthn.enabled) return ok('passkeys', 'webauthn.enabled is false')
  const id = relyingPartyId(config)
  if (id !== undefined) return ok('passkeys', `they belong to ${id}`)
  return warn(
    'passkeys',
    'users have none, because the host of server.issuer is an address',
    'give the service a name, or set webauthn.enabled: false',
  )
}

function engine({ server }: Config): Finding {
  if (server.http_engine === 'node') return ok('http engine', 'node:http, as configured')
  const native = loadNative()
  if (native) return ok('http engine', native.name)
  return warn(
    'http engine',
    'no native build of uWebSockets.js loads here, and node:http is several times slower',
    'use Node 20 to 25 on Linux with glibc 2.27 or newer, macOS or Windows',
  )
}

function database(file: string): Finding[] {
  const folder = path.dirname(file)
  const missing = warn('database', `${file} does not exist yet`, 'check storage.sqlite.path; `serve` creates the file')
  if (!existsSync(folder)) return [missing]
  const { bavail, blocks, bsize } = statfsSync(folder)
  const free = bavail * bsize
  const space = `${Math.floor(free / 1024 ** 2)} MiB free in ${folder}`
  return [
    existsSync(file) && !statSync(file).isFile()
      ? fail('database', `${file} is not a file`, 'set storage.sqlite.path to the path of a file')
      : secrecy('database', file, missing),
    free < Math.min(LEAST_FREE_BYTES, LEAST_FREE_SHARE * blocks * bsize)
      ? fail(
          'disk',
          space,
          'delete other files or enlarge the disk: without space no token is issued, and `service purge` cannot write',
        )
      : ok('disk', space),
  ]
}

/** Checks that only the user of the service can read a file or folder. Returns `missing` when it does not exist. */
export function secrecy(check: string, place: string, missing: Finding): Finding {
  let stats: Stats
  try {
    stats = statSync(place)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return missing
    return fail(check, `${place} cannot be read: ${code}`, 'run this command as the user of the service')
  }
  if ((stats.mode & OTHERS) === 0) return ok(check, `${place} is readable only by its owner`)
  return warn(check, `${place} is readable by other users of this machine`, `chmod go= ${place}`)
}

function adminAddress(config: Config): Finding | Finding[] {
  const { enabled, address } = config.admin
  if (!enabled) return ok('admin listener', 'off')
  // The warnings of the configuration contain it.
  if (isAdminExposed(config)) return []
  const { host } = splitAddress(address)
  if (isLoopbackHost(host) || host === '::1') return ok('admin listener', `only on this machine: ${address}`)
  return warn(
    'admin listener',
    `${address} is reachable from other machines`,
    'set admin.address to 127.0.0.1:9001, or protect it with a firewall',
  )
}
