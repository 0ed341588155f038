// Keys of the process: listeners, storage, signing, encryption, admin, telemetry.
import { adminKeys } from './admin_keys.ts'
import {
  autoDurationKey,
  boolKey,
  durationKey,
  floatKey,
  intKey,
  listKey,
  secretKey,
  textKey,
  urlKey,
  wordKey,
} from './key.ts'

export const platformKeys = {
  server: {
    issuer: urlKey({ default: 'http://localhost:9000' }).describe(
      'URL of the service as clients see it, without trailing slash. It is the `iss` of every token, and is never taken from a request. If the URL has a path, a proxy in front must remove the path from requests.',
    ),
    issuer_trailing_slash: boolKey({ default: false }).describe(
      'Add a slash to the issuer everywhere that clients see it, for servers and clients in Python, which add the slash themselves. Only for an issuer without a path. A change of this key changes the issuer: tokens issued before become invalid.',
    ),
    address: textKey({ default: ':9000' }).describe(
      'Address of the public listener: host:port, or :port for every interface.',
    ),
    read_timeout: durationKey({ default: '30s' }).describe('Maximum time for a request to arrive.'),
    write_timeout: durationKey({ default: '30s' }).describe('Maximum time to send a response.'),
    idle_timeout: durationKey({ default: '120s' }).describe(
      'How long an idle connection is kept. It has no effect with uWebSockets.js, which closes an idle connection after 8 to 12 s.',
    ),
    shutdown_wait: durationKey({ default: '10s', min: 0 }).describe(
      'Maximum time for requests in flight to finish after SIGTERM or SIGINT.',
    ),
    drain_wait: autoDurationKey().describe(
      'Time between SIGTERM or SIGINT and the end of new connections, in which /ready is 503 and requests are still answered, so that proxies stop sending them. auto: 5s if server.trusted_proxies is set, otherwise 0s.',
    ),
    hsts_include_subdomains: boolKey({ default: true }).describe(
      'Send includeSubDomains in the Strict-Transport-Security header. The header is sent when session.secure is true. Set false when another host below the host of the issuer is served over plain http.',
    ),
    allowed_origins: listKey().describe(
      'Origins of web pages that may call the service from a browser (CORS). Empty: none. `*` is for local development.',
    ),
    trusted_proxies: listKey().describe(
      'Addresses or CIDR ranges of the proxies in front, whose X-Forwarded-For header is trusted. Empty: none.',
    ),
    http_engine: wordKey({ of: ['auto', 'uws', 'node'], default: 'auto' }).describe(
      'HTTP engine of the public listener: uws is uWebSockets.js, node is node:http, auto is the fastest one that loads.',
    ),
    front_threads: intKey({ default: 1, min: 1, max: 64 }).describe(
      'Number of threads that serve the public listener on one port. More than one is useful on machines with 8 cores or more, and needs Linux and uWebSockets.js. The main thread then supervises them.',
    ),
    crypto_threads: intKey({ default: 0, min: 0, max: 256 }).describe(
      'Number of threads that sign and verify. 0: one less than the number of cores, at least 1.',
    ),
  },
  storage: {
    driver: wordKey({ of: ['sqlite', 'postgres'], default: 'sqlite' }).describe(
      'Where the data is stored. More than one instance requires postgres.',
    ),
    sqlite: {
      path: textKey({ default: 'data/service.db' }).describe('The database file.'),
      wal: boolKey({ default: true }).describe('Write-ahead log: readers do not wait for writers.'),
    },
    postgres: {
      dsn: secretKey().describe(
        'Connection string in the syntax of libpq: postgres://user:password@host:5432/database?sslmode=verify-full, with one or several hosts, or keyword=value text.',
      ),
      password_file: textKey().describe(
        'File with the password, read at each connection. It replaces a password in the connection string.',
      ),
      max_conns: intKey({ default: 25, min: 1, max: 1000 }).describe('Maximum number of connections of one instance.'),
      min_conns: intKey({ default: 5, min: 0, max: 1000 }).describe(
        'Number of connections that stay open when they are idle.',
      ),
      max_conn_lifetime: durationKey({ default: '1h' }).describe('A connection is replaced after this time.'),
      max_conn_idle_time: durationKey({ default: '30m' }).describe(
        'An idle connection above min_conns is closed after this time.',
      ),
      connect_wait: durationKey({ default: '60s', min: 0 }).describe(
        'How long `serve` waits for a PostgreSQL server that cannot be reached at the start. Meanwhile /livez is 200 and /ready is 503.',
      ),
    },
  },
  retention: {
    enabled: boolKey({ default: false }).describe(
      'Delete expired rows while the service runs, as `service purge` does, in small steps and at one instance at a time. With false only `service purge` deletes them.',
    ),
    interval: durationKey({ default: '1h' }).describe('Time from one deletion of expired rows to the next.'),
  },
  signing: {
    algorithm: wordKey({ of: ['ES256', 'RS256'], default: 'ES256' }).describe(
      'ES256 is ECDSA P-256, RS256 is RSA 2048. A change takes effect at the next rotation.',
    ),
    key_store: wordKey({
      of: ['keyfile', 'postgres_key', 'secretstore_transit', 'postgres'],
      default: 'keyfile',
    }).describe(
      'keyfile: a folder. postgres_key: encrypted in the database, for several instances. secretstore_transit: an external transit engine. (`postgres` is refused.)',
    ),
    key_path: textKey({ default: 'data/keys' }).describe('Folder of the keyfile store.'),
    secretstore_transit: {
      address: urlKey({ env: ['VAULT_ADDR'] }).describe('Address of the transit secret store.'),
      token: secretKey({ env: ['VAULT_TOKEN'] }).describe('Token; mutually exclusive with approle.'),
      mount: textKey({ default: 'transit', env: ['VAULT_TRANSIT_MOUNT'] }).describe(
        'Mount path of the transit engine.',
      ),
      key_name: textKey({ default: 'service-signing', env: ['VAULT_TRANSIT_KEY_NAME'] }).describe(
        'Name of the signing key.',
      ),
      timeout: durationKey({ default: '10s', env: ['VAULT_TIMEOUT'] }).describe('Deadline of one call.'),
      approle: {
        role_id: textKey({ env: ['VAULT_APPROLE_ROLE_ID'] }).describe('AppRole role id.'),
        secret_id: secretKey({ env: ['VAULT_APPROLE_SECRET_ID'] }).describe('AppRole secret id.'),
        mount: textKey({ default: 'approle', env: ['VAULT_APPROLE_MOUNT'] }).describe(
          'Mount path of the AppRole method.',
        ),
      },
    },
  },
  data_encryption: {
    driver: wordKey({ of: ['aes_master', 'secretstore_transit_encrypt', ''], default: '' }).describe(
      'How upstream tokens, signing keys in the database, and backups are encrypted. Empty: the service stores no upstream tokens and no signing keys in the database, and backups are not encrypted.',
    ),
    aes_master: {
      key_env: textKey({ default: 'SERVICE_DATA_ENCRYPTION_KEY', env: ['DATA_ENCRYPTION_KEY_ENV'] }).describe(
        'Name of the variable that holds the key: 64 hex characters.',
      ),
      old_key_env: textKey({ default: 'SERVICE_DATA_OLD_KEY', env: ['DATA_ENCRYPTION_OLD_KEY_ENV'] }).describe(
        'Name of the variable that holds the previous key, for rotation.',
      ),
    },
    secretstore_transit_encrypt: {
      address: urlKey({ env: ['DATA_ENCRYPTION_VAULT_ADDRESS'] }).describe('Address of the transit secret store.'),
      auth_method: wordKey({
        of: ['token', 'approle', ''],
        default: '',
        env: ['DATA_ENCRYPTION_VAULT_AUTH_METHOD'],
      }).describe('How to authenticate at the transit secret store.'),
      token_env: textKey({ env: ['DATA_ENCRYPTION_VAULT_TOKEN_ENV'] }).describe(
        'Name of the variable that holds the token.',
      ),
      mount_path: textKey({ default: 'transit', env: ['DATA_ENCRYPTION_VAULT_MOUNT_PATH'] }).describe(
        'Mount path of the transit engine.',
      ),
      key_name: textKey({ default: 'service-data', env: ['DATA_ENCRYPTION_VAULT_KEY_NAME'] }).describe(
        'Name of the key.',
      ),
      approle: {
        role_id_env: textKey({ env: ['DATA_ENCRYPTION_VAULT_ROLE_ID_ENV'] }).describe(
          'Name of the variable that holds the AppRole role id.',
        ),
        secret_id_env: textKey({ env: ['DATA_ENCRYPTION_VAULT_SECRET_ID_ENV'] }).describe(
          'Name of the variable that holds the AppRole secret id.',
        ),
      },
    },
  },
  admin: adminKeys,
  observability: {
    capacity_report: textKey().describe(
      'File with a report of `service bench` from this machine. Status and metrics then compare the traffic with the rates in the report. Empty: the ceiling is estimated from the traffic.',
    ),
    logging: {
      level: wordKey({ of: ['debug', 'info', 'warn', 'error'], default: 'info', env: ['LOG_LEVEL'] }).describe(
        'Lowest level that is logged.',
      ),
      format: wordKey({ of: ['json', 'text'], default: 'json', env: ['LOG_FORMAT'] }).describe(
        'One JSON object or one line of text per event.',
      ),
      add_source: boolKey({ default: false, env: ['LOG_ADD_SOURCE'] }).describe(
        'Add the source file and line of each event.',
      ),
      outputs: {
        stdout: boolKey({ default: true, env: ['LOG_STDOUT'] }).describe('Log to standard output.'),
        otel: boolKey({ default: false, env: ['LOG_OTEL'] }).describe('Log to an OTLP endpoint.'),
        otel_endpoint: textKey({ env: ['LOG_OTEL_ENDPOINT'] }).describe('OTLP gRPC endpoint, host:port.'),
        insecure: boolKey({ default: false, env: ['LOG_OTEL_INSECURE'] }).describe('Connect without TLS.'),
      },
    },
    tracing: {
      enabled: boolKey({ default: false, env: ['TRACING_ENABLED'] }).describe('Send traces.'),
      endpoint: textKey({ env: ['TRACING_ENDPOINT'] }).describe('OTLP gRPC endpoint, host:port.'),
      insecure: boolKey({ default: false, env: ['TRACING_INSECURE'] }).describe('Connect without TLS.'),
      sample_rate: floatKey({ default: 1, min: 0, max: 1, env: ['TRACING_SAMPLE_RATE'] }).describe(
        'Share of requests that are traced, from 0 to 1.',
      ),
    },
    metrics: {
      provider: wordKey({
        of: ['prometheus', 'otel', 'both', 'none'],
        default: 'prometheus',
        env: ['METRICS_PROVIDER'],
      }).describe('How metrics are exported.'),
      path: textKey({ default: '/metrics', env: ['METRICS_PATH'] }).describe('Scrape path.'),
      listener: wordKey({ of: ['admin', 'public'], default: 'admin', env: ['METRICS_LISTENER'] }).describe(
        'Listener that serves the metrics. They need no key.',
      ),
      otel_endpoint: textKey({ env: ['METRICS_OTEL_ENDPOINT'] }).describe(
        'OTLP gRPC endpoint, host:port, for otel and both.',
      ),
      insecure: boolKey({ default: false, env: ['METRICS_INSECURE'] }).describe('Connect without TLS.'),
    },
  },
} as const
