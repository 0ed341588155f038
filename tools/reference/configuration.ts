// Files that are generated from the configuration schema: the example file, the schema for editors, the reference page.
import { stringify } from 'yaml'
import { type ConfigSchema, envNames, isConfigKey, type Key, keysOf } from '../../src/config/key.ts'
import { isReloadable } from '../../src/config/reload.ts'
import { schema } from '../../src/config/schema.ts'
import { code, page, table } from './markdown.ts'

const WIDTH = 110
/** The example of a list of records has one record. */
const RECORDS: Readonly<Record<string, unknown>> = {
  api_keys: [{ name: 'alice', sha256: 'what `printf %s KEY | sha256sum` prints', capability: 'write' }],
  resources: [
    {
      slug: 'notes',
      uri: 'https://notes.example.com/mcp',
      backend_kind: 'mint',
      display_name: 'Notes',
      scopes: [{ name: 'notes:read', description: 'Read your notes' }],
    },
  ],
  providers: [
    {
      slug: 'acme',
      issuer: 'https://login.acme.example.com',
      client_id: 'id-there',
      redirect_uri: 'https://auth.example.com/oidc/callback/acme',
      display_name: 'Acme',
      allowed_email_domains: ['acme.example.com'],
    },
  ],
  broker_providers: [
    {
      slug: 'github',
      display_name: 'GitHub',
      protocol: 'oauth',
      config_data: {
        client_id: 'id-there',
        client_secret_ref: 'CONNECTOR_GITHUB_SECRET',
        authorize_url: 'https://github.com/login/oauth/authorize',
        token_url: 'https://github.com/login/oauth/access_token',
        response_format: 'standard',
      },
    },
  ],
}

const EXAMPLE_HEAD = `# yaml-language-server: $schema=docs/reference/config.schema.json
# Every key with its default. To change a key, remove the # in front of it. A key that stays commented out has the default of the installed release.
# Precedence: these defaults, then this file (service serve --config FILE), then the environment variable named with the key.
# Durations are written like 10s, 5m or 1h30m. Generated from src/config/schema.ts by \`npm run generate\`; do not edit.`

/** config.example.yaml: all sections, with every key commented out, so that the unchanged file changes no setting. */
export const renderExample = (): string => `${[EXAMPLE_HEAD, '', ...exampleLines(schema, '', [])].join('\n')}\n`

function exampleLines(entries: ConfigSchema, indent: string, at: readonly string[]): string[] {
  return Object.entries(entries).flatMap(([name, entry], i) => {
    const path = [...at, name]
    const gap = at.length === 0 && i > 0 ? [''] : []
    if (!isConfigKey(entry)) return [...gap, `${indent}${name}:`, ...exampleLines(entry, `${indent}  `, path)]
    const about = [...wrap(entry.doc), factsOf(path, entry)].map((line) => `${indent}# ${line}`)
    return [...gap, ...about, ...yamlOf(name, entry).map((line) => `${indent}#${line}`)]
  })
}

const factsOf = (path: readonly string[], key: Key) => [key.form, ...envNames(path, key)].join(', ')
const yamlOf = (name: string, key: Key): string[] => {
  const example = RECORDS[name]
  const plain = { lineWidth: 0, collectionStyle: 'flow', flowCollectionPadding: false } as const
  const text = example ? stringify({ [name]: example }) : `${name}: ${stringify(key.default ?? '', plain)}`
  return text.trimEnd().split('\n')
}

function wrap(text: string): string[] {
  const lines = ['']
  for (const word of text.split(' ')) {
    const last = lines.at(-1) ?? ''
    if (last && last.length + word.length >= WIDTH) lines.push(word)
    else lines[lines.length - 1] = last ? `${last} ${word}` : word
  }
  return lines
}

/** JSON Schema (draft 2020-12) of the configuration file. */
export const renderJsonSchema = (): string =>
  `${JSON.stringify({ $schema: 'https://json-schema.org/draft/2020-12/schema', title: 'Configuration of the service', ...objectOf(schema, []) }, null, 2)}\n`

/** An empty section is null in YAML. */
const objectOf = (entries: ConfigSchema, at: readonly string[]): object => ({
  type: at.length === 0 ? 'object' : ['object', 'null'],
  additionalProperties: false,
  properties: Object.fromEntries(
    Object.entries(entries).map(([name, entry]) => [
      name,
      isConfigKey(entry) ? leafOf([...at, name], entry) : objectOf(entry, [...at, name]),
    ]),
  ),
})

function leafOf(path: readonly string[], key: Key): object {
  const names = envNames(path, key)
  const environment = names.length > 0 ? ` Environment: ${names.join(', ')}.` : ''
  return { description: `${key.doc}${environment}`, default: key.default, ...withoutDialect(key.json) }
}

/** zod names the dialect in every schema. Only the root schema should name it. */
const withoutDialect = ({ items, ...json }: Key['json'] & { items?: { $schema?: string } }): object => {
  if (!items) return json
  const { $schema, ...item } = items
  return { ...json, items: item }
}

const PAGE_INTRO = `Precedence, lowest to highest: the defaults below, the YAML file of \`--config\`, environment variables. A variable is named after its key:
\`SERVICE_\` and the path in upper case with \`_\`. Some keys also have a shorter name. An empty variable counts as unset. Lists in variables are
separated by commas, booleans are \`true\`, \`false\`, \`1\` or \`0\`, durations are written like \`10s\`, \`5m\` or \`1h30m\`. A variable \`NAME\` of a
secret can be replaced by \`NAME_FILE\`, which names a file that contains the secret; both at once are refused. Unknown keys are refused, and all
errors are reported together. SIGHUP and \`service admin config reload\` read the file again: they apply the keys that are marked below, and name the changed keys that need a restart. \`config.example.yaml\` has every key. \`config.schema.json\` is a JSON Schema, with which an editor can complete and check the file.`

/** docs/reference/configuration.md: a table per section. */
export const renderConfiguration = (): string =>
  page(
    'Configuration',
    'src/config/schema.ts',
    PAGE_INTRO,
    ...Object.entries(schema as ConfigSchema).flatMap(([name, entry]) => [
      `## ${name}`,
      table(['Key', 'Form', 'Default', 'Environment', 'Meaning'], rowsOf({ [name]: entry })),
    ]),
  )

const rowsOf = (entries: ConfigSchema): string[][] =>
  [...keysOf(entries)].map(({ path, key }) => [
    code(path.join('.')),
    key.form,
    code(defaultOf(key)),
    envNames(path, key).map(code).join(' '),
    isReloadable(path) ? `${key.doc} A reload applies it.` : key.doc,
  ])
const defaultOf = ({ default: value }: Key): string =>
  Array.isArray(value) ? value.join(', ') : value === undefined ? '' : String(value)
