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
    issuer: urlKey({
      default: 'http://localhost:9000',
      doc: 'URL of the service as clients see it, without trailing slash. It is the `iss` of every token, and is never taken from a request. If the URL has a path, a proxy in front must remove the path from requests.',
    }),
    issuer_trailing_slash: boolKey({
      default: false,
      doc: 'Add a slash to the issuer everywhere that clients see it, for servers and clients in Python, which add the slash themselves. Only for an issuer without a path. A change of this key changes the issuer: tokens issued before become invalid.',
    }),
    address: textKey({
      default: ':9000',
      doc: 'Address of the public listener: host:port, or :port for every interface.',
    }),
    read_timeout: durationKey({ default: '30s', doc: 'Maximum time for a request to arrive.' }),
    write_timeout: durationKey({ default: '30s', doc: 'Maximum time to send a response.' }),
    idle_timeout: durationKey({
      default: '120s',
      doc: 'How long an idle connection is kept. It has no effect with uWebSockets.js, which closes an idle connection after 8 to 12 s.',
    }),
    shutdown_wait: durationKey({
      default: '10s',
      min: 0,
      doc: 'Maximum time for requests in flight to finish after SIGTERM or SIGINT.',
    }),
    drain_wait: autoDurationKey({
      doc: 'Time between SIGTERM or SIGINT and the end of new connections, in which /ready is 503 and requests are still answered, so that proxies stop sending them. auto: 5s if server.trusted_proxies is set, otherwise 0s.',
    }),
    hsts_include_subdomains: boolKey({
      default: true,
      doc: 'Send includeSubDomains in the Strict-Transport-Security header. The header is sent when session.secure is true. Set false when another host below the host of the issuer is served over plain http.',
    }),
    allowed_origins: listKey({
      doc: 'Origins of web pages that may call the service from a browser (CORS). Empty: none. `*` is for local development.',
    }),
    trusted_proxies: listKey({
      doc: 'Addresses or CIDR ranges of the proxies in front, whose X-Forwarded-For header is trusted. Empty: none.',
    }),
    http_engine: wordKey({
      of: ['auto', 'uws', 'node'],
      default: 'auto',
      doc: 'HTTP engine of the public listener: uws is uWebSockets.js, node is node:http, auto is the fastest one that loads.',
    }),
    front_threads: intKey({
      default: 1,
      min: 1,
      max: 64,
      doc: 'Number of threads that serve the public listener on one port. More than one is useful on machines with 8 cores or more, and needs Linux and uWebSockets.js. The main thread then supervises them.',
    }),
    crypto_threads: intKey({
      default: 0,
      min: 0,
      max: 256,
      doc: 'Number of threads that sign and verify. 0: one less than the number of cores, at least 1.',
    }),
  },
  storage: {
    driver: wordKey({
      of: ['sqlite', 'postgres'],
      default: 'sqlite',
      doc: 'Where the data is stored. More than one instance requires postgres.',
    }),
    sqlite: {
      path: textKey({ default: 'data/service.db', doc: 'The database file.' }),
      wal: boolKey({ default: true, doc: 'Write-ahead log: readers do not wait for writers.' }),
    },
    postgres: {
      dsn: secretKey({
        doc: 'Connection string in the syntax of libpq: postgres://user:password@host:5432/database?sslmode=verify-full, with one or several hosts, or keyword=value text.',
      }),
      password_file: textKey({
        doc: 'File with the password, read at each connection. It replaces a password in the connection string.',
      }),
      max_conns: intKey({ default: 25, min: 1, max: 1000, doc: 'Maximum number of connections of one instance.' }),
      min_conns: intKey({
        default: 5,
        min: 0,
        max: 1000,
        doc: 'Number of connections that stay open when they are idle.',
      }),
      max_conn_lifetime: durationKey({ default: '1h', doc: 'A connection is replaced after this time.' }),
      max_conn_idle_time: durationKey({
        default: '30m',
        doc: 'An idle connection above min_conns is closed after this time.',
      }),
      connect_wait: durationKey({
        default: '60s',
        min: 0,
        doc: 'How long `serve` waits for a PostgreSQL server that cannot be reached at the start. Meanwhile /livez is 200 and /ready is 503.',
      }),
    },
  },
  retention: {
    enabled: boolKey({
      default: false,
      doc: 'Delete expired rows while the service runs, as `service purge` does, in small steps and at one instance at a time. With false only `service purge` deletes them.',
    }),
    interval: durationKey({ default: '1h', doc: 'Time from one deletion of expired rows to the next.' }),
  },
  signing: {
    algorithm: wordKey({
      of: ['ES256', 'RS256'],
      default: 'ES256',
      doc: 'ES256 is ECDSA P-256, RS256 is RSA 2048. A change takes effect at the next rotation.',
    }),
    key_store: wordKey({
      of: ['keyfile', 'postgres_key', 'secretstore_transit', 'postgres'],
      default: 'keyfile',
      doc: 'keyfile: a folder. postgres_key: encrypted in the database, for several instances. secretstore_transit: an external transit engine. (`postgres` is refused.)',
    }),
    key_path: textKey({ default: 'data/keys', doc: 'Folder of the keyfile store.' }),
    secretstore_transit: {
      address: urlKey({ doc: 'Address of the transit secret store.', env: ['VAULT_ADDR'] }),
      token: secretKey({ doc: 'Token; mutually exclusive with approle.', env: ['VAULT_TOKEN'] }),
      mount: textKey({ default: 'transit', doc: 'Mount path of the transit engine.', env: ['VAULT_TRANSIT_MOUNT'] }),
      key_name: textKey({
        default: 'service-signing',
        doc: 'Name of the signing key.',
        env: ['VAULT_TRANSIT_KEY_NAME'],
      }),
      timeout: durationKey({ default: '10s', doc: 'Deadline of one call.', env: ['VAULT_TIMEOUT'] }),
      approle: {
        role_id: textKey({ doc: 'AppRole role id.', env: ['VAULT_APPROLE_ROLE_ID'] }),
        secret_id: secretKey({ doc: 'AppRole secret id.', env: ['VAULT_APPROLE_SECRET_ID'] }),
        mount: textKey({ default: 'approle', doc: 'Mount path of the AppRole method.', env: ['VAULT_APPROLE_MOUNT'] }),
      },
    },
  },
  data_encryption: {
    driver: wordKey({
      of: ['aes_master', 'secretstore_transit_encrypt', ''],
      default: '',
      doc: 'How upstream tokens, signing keys in the database, and backups are encrypted. Empty: the service stores no upstream tokens and no signing keys in the database, and backups are not encrypted.',
    }),
    aes_master: {
      key_env: textKey({
        default: 'SERVICE_DATA_ENCRYPTION_KEY',
        doc: 'Name of the variable that holds the key: 64 hex characters.',
        env: ['DATA_ENCRYPTION_KEY_ENV'],
      }),
      old_key_env: textKey({
        default: 'SERVICE_DATA_OLD_KEY',
        doc: 'Name of the variable that holds the previous key, for rotation.',
        env: ['DATA_ENCRYPTION_OLD_KEY_ENV'],
      }),
    },
    secretstore_transit_encrypt: {
      address: urlKey({ doc: 'Address of the transit secret store.', env: ['DATA_ENCRYPTION_VAULT_ADDRESS'] }),
      auth_method: wordKey({
        of: ['token', 'approle', ''],
        default: '',
        doc: 'How to authenticate at the transit secret store.',
        env: ['DATA_ENCRYPTION_VAULT_AUTH_METHOD'],
      }),
      token_env: textKey({
        doc: 'Name of the variable that holds the token.',
        env: ['DATA_ENCRYPTION_VAULT_TOKEN_ENV'],
      }),
      mount_path: textKey({
        default: 'transit',
        doc: 'Mount path of the transit engine.',
        env: ['DATA_ENCRYPTION_VAULT_MOUNT_PATH'],
      }),
      key_name: textKey({ default: 'service-data', doc: 'Name of the key.', env: ['DATA_ENCRYPTION_VAULT_KEY_NAME'] }),
      approle: {
        role_id_env: textKey({
          doc: 'Name of the variable that holds the AppRole role id.',
          env: ['DATA_ENCRYPTION_VAULT_ROLE_ID_ENV'],
        }),
        secret_id_env: textKey({
          doc: 'Name of the variable that holds the AppRole secret id.',
          env: ['DATA_ENCRYPTION_VAULT_SECRET_ID_ENV'],
        }),
      },
    },
  },
  admin: adminKeys,
  observability: {
    capacity_report: textKey({
      doc: 'File with a report of `service bench` from this machine. Status and metrics then compare the traffic with the rates in the report. Empty: the ceiling is estimated from the traffic.',
    }),
    logging: {
      level: wordKey({
        of: ['debug', 'info', 'warn', 'error'],
        default: 'info',
        doc: 'Lowest level that is logged.',
        env: ['LOG_LEVEL'],
      }),
      format: wordKey({
        of: ['json', 'text'],
        default: 'json',
        doc: 'One JSON object or one line of text per event.',
        env: ['LOG_FORMAT'],
      }),
      add_source: boolKey({
        default: false,
        doc: 'Add the source file and line of each event.',
        env: ['LOG_ADD_SOURCE'],
      }),
      outputs: {
        stdout: boolKey({ default: true, doc: 'Log to standard output.', env: ['LOG_STDOUT'] }),
        otel: boolKey({ default: false, doc: 'Log to an OTLP endpoint.', env: ['LOG_OTEL'] }),
        otel_endpoint: textKey({ doc: 'OTLP gRPC endpoint, host:port.', env: ['LOG_OTEL_ENDPOINT'] }),
        insecure: boolKey({ default: false, doc: 'Connect without TLS.', env: ['LOG_OTEL_INSECURE'] }),
      },
    },
    tracing: {
      enabled: boolKey({ default: false, doc: 'Send traces.', env: ['TRACING_ENABLED'] }),
      endpoint: textKey({ doc: 'OTLP gRPC endpoint, host:port.', env: ['TRACING_ENDPOINT'] }),
      insecure: boolKey({ default: false, doc: 'Connect without TLS.', env: ['TRACING_INSECURE'] }),
      sample_rate: floatKey({
        default: 1,
        min: 0,
        max: 1,
        doc: 'Share of requests that are traced, from 0 to 1.',
        env: ['TRACING_SAMPLE_RATE'],
      }),
    },
    metrics: {
      provider: wordKey({
        of: ['prometheus', 'otel', 'both', 'none'],
        default: 'prometheus',
        doc: 'How metrics are exported.',
        env: ['METRICS_PROVIDER'],
      }),
      path: textKey({ default: '/metrics', doc: 'Scrape path.', env: ['METRICS_PATH'] }),
      listener: wordKey({
        of: ['admin', 'public'],
        default: 'admin',
        doc: 'Listener that serves the metrics. They need no key.',
        env: ['METRICS_LISTENER'],
      }),
      otel_endpoint: textKey({
        doc: 'OTLP gRPC endpoint, host:port, for otel and both.',
        env: ['METRICS_OTEL_ENDPOINT'],
      }),
      insecure: boolKey({ default: false, doc: 'Connect without TLS.', env: ['METRICS_INSECURE'] }),
    },
  },
} as const
