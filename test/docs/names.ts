// What the documentation may name: settings, variables, commands with their flags, metrics, endpoints.
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { adminResources } from '../../src/admin/index.ts'
import { fileVariable } from '../../src/config/env.ts'
import { envNames, keysOf, memberVariable } from '../../src/config/key.ts'
import { loadConfig } from '../../src/config/load.ts'
import { schema } from '../../src/config/schema.ts'
import type { App } from '../../src/context.ts'
import { scrapeRoutes } from '../../src/endpoints/metrics.ts'
import { publicRoutes } from '../../src/endpoints/routes.ts'
import { packageRoot } from '../../src/lib/paths.ts'
import { SCIM_OPERATIONS } from '../../src/scim/dispatch.ts'
import { COUNTERS, GAUGES, HISTOGRAMS, READINGS } from '../../src/telemetry/metric_names.ts'
import { runHere } from '../support/cli.ts'

const keys = [...keysOf(schema)]
/** `server.issuer`, and the sections above it. */
export const settings = new Set(keys.flatMap(({ path: at }) => at.map((_, i) => at.slice(0, i + 1).join('.'))))
export const sections = new Set(keys.map(({ path: at }) => at[0] as string))

/** The comments of a file: what only a comment names does not exist. */
const COMMENTS: Record<string, RegExp> = {
  ts: /\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/.*$/gm,
  sql: /--.*$/gm,
  yaml: /(?<=^|\s)#.*$/gm,
  py: /(?<=^|\s)#.*$/gm,
}
const commentsOf = (name: string) => COMMENTS[(/\.(sql|yaml|py)$/.exec(name)?.[1] ?? 'ts') as string] as RegExp

/** Words of every file under these folders, without those of comments. */
function wordsUnder(folders: readonly string[], pattern: RegExp): Set<string> {
  const words = new Set<string>()
  for (const folder of folders)
    for (const name of readdirSync(path.join(packageRoot, folder), { recursive: true, encoding: 'utf8' })) {
      if (!/\.(tsx?|mjs|sql|json|yaml|py|go)$/.test(name)) continue
      const text = readFileSync(path.join(packageRoot, folder, name), 'utf8').replace(commentsOf(name), '')
      for (const [word] of text.matchAll(pattern)) words.add(word)
    }
  return words
}

/** Of the programs around the service, of standards that are not followed here, and of versions before. */
const OF_OTHERS = [
  ...['issuances_2026_12', 'issuances_default', 'issuances_first', 'default_pool_size', 'max_prepared_statements'],
  ...['client_uri', 'is_admin', 'may_act', 'private_key_jwt', 'software_id', 'software_version'],
  ...['groups_direct', 'oidc_invalid_response', 'token_max_ttl', 'auto_rotate_period'],
]
const SHIPPED = ['src', 'workers', 'migrations', 'bench', 'deploy', 'examples', 'packages/resource-server/src']
/** Every snake_case word of the sources: fields, reasons, codes, actions, tables. */
const words = new Set([...wordsUnder(SHIPPED, /[a-z0-9]+(?:_[a-z0-9]+)+/g), ...OF_OTHERS])

/** Reasons that are put together: their form, and the files that have the other part in quotes. */
const COMPOSED: readonly (readonly [form: RegExp, files: readonly string[]])[] = [
  [/^cimd_(.+)$/, ['src/oauth/clients/cimd.ts', 'src/oauth/clients/document_reader.ts', 'src/net/error.ts']],
  [/^jwks_(.+)$/, ['src/net/error.ts']],
  [/^oidc_upstream_(.+)$/, ['src/oauth/federation/upstream_errors.ts']],
  [
    /^oidc_(.+)$/,
    [
      ...[
        'src/oauth/federation/oidc_discovery.ts',
        'src/oauth/federation/oidc_errors.ts',
        'src/oauth/federation/oidc_provider.ts',
      ],
      ...[
        'src/oauth/federation/id_token.ts',
        'src/oauth/federation/federated_user.ts',
        'src/net/error.ts',
        'src/endpoints/oidc.ts',
      ],
      'src/crypto/foreign_jwt.ts',
    ],
  ],
  [/^login_(.+)$/, ['src/endpoints/sign_in/login.ts']],
  [/^missing_(.+)$/, ['src/grants/authorization_code.ts']],
  [/^client_(.+)$/, ['src/http/client_limiter.ts']],
  [
    /^(.+)_lane_full$/,
    ['src/crypto/pool.ts', 'src/crypto/passwords.ts', 'src/crypto/transit/signer.ts', 'src/store/sqlite.ts'],
  ],
  [/^(.+)_full$/, ['src/http/admission.ts', 'src/http/router.ts', 'src/lib/replay_set.ts', 'src/net/semaphore.ts']],
]
const quoted = new Map(
  COMPOSED.flatMap(([, files]) => files).map((file) => {
    const text = readFileSync(path.join(packageRoot, file), 'utf8').replace(commentsOf(file), '')
    return [file, new Set([...text.matchAll(/'([a-z0-9_]+)'/g)].map(([, part]) => part))]
  }),
)
const isComposed = (word: string): boolean =>
  COMPOSED.some(([form, files]) => {
    const part = form.exec(word)?.[1]
    return part !== undefined && files.some((file) => quoted.get(file)?.has(part))
  })

const METRICS = new Set([COUNTERS, READINGS, HISTOGRAMS, GAUGES].flatMap((names) => Object.keys(names)))
/** Whether there is a snake_case word: a metric, or in the sources a field, a code, a reason, an action or a setting. */
export const isWord = (word: string): boolean =>
  /^(core|ext)_/.test(word)
    ? METRICS.has(word) || METRICS.has(word.replace(/_(bucket|sum|count)$/, ''))
    : words.has(word) || isComposed(word)

/** Of the configuration, and of the tests and tools. */
export const variables = new Set([
  ...keys.flatMap(({ path: at, key }) => envNames(at, key)),
  ...keys.flatMap(({ path: at, key }) => (key.secret ? envNames(at, key).map(fileVariable) : [])),
  // Of the record that the guides have.
  ...keys.flatMap(({ path: at, key }) =>
    Object.keys(key.records?.members ?? {}).map((member) => memberVariable(at, 'acme', member)),
  ),
  ...wordsUnder(['src', 'test', 'tools', 'bench'], /\bSERVICE_[A-Z0-9_]+[A-Z0-9]\b/g),
  ...(readFileSync(path.join(packageRoot, 'package.json'), 'utf8').match(/\bSERVICE_[A-Z_]+[A-Z]\b/g) ?? []),
])

/** The flags and subcommands behind each command, `service admin client` and so on. */
export async function readCommands(): Promise<Map<string, string[]>> {
  const { stdout } = await runHere(['completion', 'bash'])
  return new Map(
    [...stdout.matchAll(/^ {4}'([^']+)'\) echo '([^']*)' ;;$/gm)].map(([, at = '', next = '']) => [
      at,
      next.split(' '),
    ]),
  )
}

/** What is wrong with a command line that begins with `service`; undefined when it can be carried out. */
export function commandFault(commands: Map<string, string[]>, line: string): string | undefined {
  // Values in quotes, substitutions and whatever follows the command say nothing about its flags.
  const plain = line.replace(/'[^']*'|"[^"]*"|\$\([^)]*\)/g, 'x').split(/[|;&>#]| -- /)[0] as string
  let at = 'service'
  for (const word of plain.trim().split(/\s+/).slice(1)) {
    const next = commands.get(at) ?? []
    if (word.startsWith('--')) {
      if (!next.includes(word.split('=')[0] as string)) return `${at} has no ${word}`
    } else if (commands.has(`${at} ${word}`)) at = `${at} ${word}`
    else if (
      /^[a-z]/.test(word) &&
      next.some((each) => !each.startsWith('-') && commands.has(`${at} ${each}`)) &&
      !TAKES_WORDS.has(at)
    )
      return `${at} has no ${word}`
  }
  return undefined
}
/** Their arguments are free words, beside subcommands. */
const TAKES_WORDS = new Set(['service bench'])

const { config } = loadConfig(undefined, {
  SERVICE_AGENTS_ENABLE_JWKS_LISTING: 'true',
  SERVICE_DEVICE_ENABLED: 'true',
  SERVICE_CIBA_ENABLED: 'true',
  SERVICE_OAUTH_OPENID: 'true',
})

/** `METHOD /path` of both listeners; a member in braces stands for anything. */
const routes: readonly string[] = [
  ...adminResources.flatMap(({ actions }) => Object.values(actions)),
  ...publicRoutes({ config } as App),
  ...scrapeRoutes({ config } as App, 'admin'),
  ...SCIM_OPERATIONS,
  { method: 'GET', path: '/scim/v2' },
  { method: 'GET', path: '/admin/ui/' },
  // The pages that the runbook links to.
  { method: 'GET', path: '/admin/ui/incidents/{incident}' },
].map(({ method, path: at }) => `${method} ${at}`)

/** Whether an endpoint exists, with any method where none is named. */
export function isEndpoint(named: string): boolean {
  const [, method, at = ''] = /^(?:([A-Z]+) )?(\/[^?#]*)/.exec(named) ?? []
  const segments = at.replace(/\/$/, '').split('/')
  return routes.some((route) => {
    const [its, path = ''] = route.split(' ')
    const parts = path.replace(/\/$/, '').split('/')
    const fits = (part: string, i: number) => part === segments[i] || (/^\{/.test(part) && segments[i] !== undefined)
    return (method === undefined || method === its) && parts.length === segments.length && parts.every(fits)
  })
}
