// The server of admin commands: the one of the configuration, or one elsewhere that flags or a profile name.
import { statSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { z } from 'zod'
import type { Env } from '../config/env.ts'
import { loadConfig } from '../config/load.ts'
import type { Config } from '../config/schema.ts'
import { parseYaml } from '../config/yaml.ts'
import { isLoopbackHost, parseHttpUrl } from '../lib/url.ts'
import { readText } from './input.ts'
import { UsageError } from './output.ts'
import type { GlobalOptions } from './tree.ts'

/** A server elsewhere: the base of its admin API, the key, and the certificates (PEM) to trust beside those of the system. */
export interface RemoteServer {
  base: string
  key: string
  ca?: string
}

/** Where admin operations run. Without `remote`: on the server of the configuration, or in this process while none listens. */
export type AdminTarget = { remote: RemoteServer } | { remote?: undefined; config: Config; env: Env }

/** The flags of `service admin` that name a server elsewhere. */
export interface TargetFlags {
  adminUrl?: string
  adminKeyFile?: string
  caFile?: string
  profile?: string
}

const profiles = z.record(
  z.string(),
  z.strictObject({ url: z.string(), key_file: z.string(), ca_file: z.string().optional() }),
)

/** The target of a command. Throws UsageError for flags or a profile that cannot be used, and ConfigError for the configuration. */
export async function adminTargetOf(options: GlobalOptions & TargetFlags, env: Env): Promise<AdminTarget> {
  const { profile, adminUrl, adminKeyFile, caFile } = options
  if (profile === undefined && adminUrl === undefined) {
    if (adminKeyFile !== undefined || caFile !== undefined)
      throw new UsageError('--admin-key-file and --ca-file need --admin-url or --profile')
    return { config: loadConfig(options.config, env).config, env }
  }
  const stored = profile === undefined ? undefined : await profileNamed(profile, env)
  const keyFile = adminKeyFile ?? stored?.key_file
  const key = keyFile === undefined ? env['SERVICE_ADMIN_API_KEY'] : await readKey(pathOf(keyFile, env))
  if (!key)
    throw new UsageError('the key is missing: name its file with --admin-key-file, or set SERVICE_ADMIN_API_KEY')
  const ca = caFile ?? stored?.ca_file
  return {
    remote: {
      base: baseOf(adminUrl ?? stored?.url ?? ''),
      key,
      ...(ca === undefined ? {} : { ca: await readText(pathOf(ca, env)) }),
    },
  }
}

/** The file with the profiles of this user. */
const profileFile = (env: Env): string =>
  join(env['XDG_CONFIG_HOME'] || join(homeOf(env), '.config'), 'service', 'profiles.yaml')

async function profileNamed(name: string, env: Env) {
  const file = profileFile(env)
  const read = parseYaml(await readText(file), file)
  if ('faults' in read) throw new UsageError(...read.faults.map(({ at, message }) => `${at} ${message}`))
  const parsed = profiles.safeParse(read.value ?? {})
  if (!parsed.success)
    throw new UsageError(...parsed.error.issues.map(({ path, message }) => `${file}: ${path.join('.')}: ${message}`))
  const found = parsed.data[name]
  if (found) return found
  throw new UsageError(`${file} has no profile ${name}; it has: ${Object.keys(parsed.data).join(', ') || 'none'}`)
}

/** The base of the admin API. A key is sent unencrypted to this machine only. */
function baseOf(text: string): string {
  const url = parseHttpUrl(text)
  if (!url) throw new UsageError(`${text} is not an http or https URL`)
  if (url.protocol === 'http:' && !isLoopbackHost(url.hostname))
    throw new UsageError(`${text} must be an https URL, because the key would be sent unencrypted`)
  if (url.search || url.hash || url.username) throw new UsageError(`${text} must have no query, fragment or user`)
  return `${url.origin}${url.pathname.replace(/\/$/, '')}`
}

/** A key that others on this machine can read is refused, as ssh does it. */
async function readKey(file: string): Promise<string> {
  const key = (await readText(file)).trim()
  if (process.platform !== 'win32' && statSync(file).mode & 0o077)
    throw new UsageError(`${file} can be read by others: chmod 600 ${file}`)
  if (key === '') throw new UsageError(`${file} is empty`)
  return key
}

const homeOf = (env: Env): string => env['HOME'] || homedir()
const pathOf = (file: string, env: Env): string => resolve(file.replace(/^~(?=\/)/, homeOf(env)))
