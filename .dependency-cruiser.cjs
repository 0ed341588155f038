// The layers of src, as a rule over the build, where only imports of values are left. tools/layers.ts holds the same rule over
// the sources, imports of types included.
const LAYERS = [
  'lib',
  'records',
  'config',
  'telemetry',
  'http|net|store',
  'crypto',
  'oauth',
  'broker',
  'grants',
  'events',
  'endpoints|admin',
  'mcp',
  'scim',
  'server',
  'cli',
]
const inSrc = (folders) => `^dist/src/(${folders})/`
const OURS = '^dist/(src|workers)/'

const onlyLeft = LAYERS.slice(0, -1).map((layer, i) => ({
  name: `${layer}: imports values only from its own folder and from folders to its left`,
  from: { path: inSrc(layer) },
  to: { path: inSrc(LAYERS.slice(i + 1).join('|')) },
}))

const strangers = LAYERS.filter((layer) => layer.includes('|')).map((layer) => ({
  name: `${layer}: are strangers to each other`,
  from: { path: inSrc(layer) },
  to: { path: inSrc(layer), pathNot: inSrc('$1') },
}))

// Who alone may know a package or a module of Node. Whatever replaces it changes these files only.
const KNOWN_BY = {
  'uWebSockets\\.js|uwebsockets-glibc227': 'src/http/uws',
  'https?|http2|net|tls|dgram|dns|undici':
    'src/(http/(node|problem|proxies)|net/connection|net/public_names|net/trusting_fetch|lib/host_rule|lib/range|lib/system_names|cli/tour/callback)',
  'better-sqlite3|pg': 'src/store/(sqlite|database|postgres/\\w+|schema/migrate)',
  '@node-rs/argon2': 'src/crypto/argon2id',
  '@noble/[\\w-]+': 'src/crypto/(argon2id|aead|points)',
  bcryptjs: 'workers/password',
  'lru-cache': 'src/lib/lru',
  piscina: 'src/lib/threads/worker_pool',
  jose: 'src/(crypto/(foreign_jwt|seal)|broker/service_account|cli/tour/assertion)',
  'openid-client': 'src/oauth/federation/oidc_provider',
  yaml: 'src/config/yaml',
  pino: 'src/telemetry/logger',
  '@opentelemetry/[\\w-]+': 'src/telemetry/otlp/\\w+',
  'prom-client': 'src/telemetry/metrics',
  '@modelcontextprotocol/[\\w-]+': 'src/(mcp/\\w+|cli/mcp_stdio)',
  commander: 'src/(cli/\\w+|command_line)',
}
const knownBy = Object.entries(KNOWN_BY).map(([what, who]) => ({
  name: `only ${who} knows ${what}`,
  from: { path: OURS, pathNot: `^dist/${who}\\.js$` },
  to: { path: `^(${what})(/promises)?$|(^|/)node_modules/(${what})/` },
}))

const others = [
  {
    name: 'only the entry point imports main',
    from: { path: '^dist/' },
    to: { path: '^dist/src/main\\.js$' },
  },
  {
    name: 'a worker knows lib, store, crypto/jws, crypto/batch, crypto/signing_work, crypto/held_keys, crypto/password_hash and crypto/argon2id; a front thread is the service',
    from: { path: '^dist/workers/', pathNot: '^dist/workers/front\\.js$' },
    to: {
      path: '^dist/src/',
      pathNot: '^dist/src/(lib/|store/|crypto/(jws|batch|signing_work|held_keys|password_hash|argon2id)\\.js)',
    },
  },
  {
    name: 'src imports no workers, tools or benchmark; the command line loads the benchmark when it is asked for',
    from: { path: '^dist/src/', pathNot: '^dist/src/command_line\\.js$' },
    to: { path: '^dist/(workers|bench|tools)/' },
  },
  {
    name: 'what ships needs no development package',
    from: { path: OURS },
    to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'] },
  },
  // On Node 20 npm leaves better-sqlite3-napi out, and store/database.ts does not load it.
  {
    name: 'every import resolves',
    from: { path: OURS },
    to: { couldNotResolve: true, pathNot: '^better-sqlite3-napi$' },
  },
  { name: 'no cycles', from: {}, to: { circular: true } },
]

module.exports = {
  forbidden: [...onlyLeft, ...strangers, ...knownBy, ...others].map((rule) => ({ ...rule, severity: 'error' })),
  options: {
    doNotFollow: { path: 'node_modules' },
    // The admin page, built for browsers from a world of its own, and the bundles of what is looked at here.
    exclude: { path: '^dist/(ui|bin)/' },
    moduleSystems: ['es6', 'cjs'],
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'require', 'node', 'default'] },
  },
}
