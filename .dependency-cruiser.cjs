// Which files may know which packages, as rules over the build, where only imports of values are left. tools/layers.ts has the rules of
// imports between our own files: layers and circles, imports of types included.
const OURS = '^dist/(src|workers)/'

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
  jose: 'src/(crypto/(foreign_jwt|seal)|broker/service_account|cli/tour/(assertion|server))',
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
    name: 'a worker knows lib, store, crypto/jws, crypto/batch, crypto/signing_work, crypto/held_keys, crypto/password_hash and crypto/argon2id; a front thread is the service',
    from: { path: '^dist/workers/', pathNot: '^dist/workers/front\\.js$' },
    to: {
      path: '^dist/src/',
      pathNot: '^dist/src/(lib/|store/|crypto/(jws|batch|signing_work|held_keys|password_hash|argon2id)\\.js)',
    },
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
]

module.exports = {
  forbidden: [...knownBy, ...others].map((rule) => ({ ...rule, severity: 'error' })),
  options: {
    doNotFollow: { path: 'node_modules' },
    // The admin page, built for browsers from a world of its own, and the bundles of what is looked at here.
    exclude: { path: '^dist/(ui|bin)/' },
    moduleSystems: ['es6', 'cjs'],
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'require', 'node', 'default'] },
  },
}
