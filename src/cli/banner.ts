// What `serve` says to a person at a terminal once it listens; programs read the log.
import path from 'node:path'
import { warningsOf } from '../config/notices.ts'
import type { Config } from '../config/schema.ts'
import { isLocalhost } from '../lib/url.ts'
import { originOf } from './origin.ts'

/** Where both listeners and the data are, and what must not stay as it is. */
export function bannerOf(config: Config, version: string): string {
  const { server, admin, storage, signing } = config
  const sqlite = storage.driver === 'sqlite'
  const rows = [
    ['clients', server.issuer],
    ['operators', admin.enabled ? `${originOf(admin.address)}/admin/ui/` : 'off (admin.enabled)'],
    ['data', sqlite ? path.resolve(storage.sqlite.path) : 'PostgreSQL'],
    ['keys', signing.key_store === 'keyfile' ? path.resolve(signing.key_path) : signing.key_store],
  ]
  const unsafe = warningsOf(config, config.dcr.mode)
  const local = isLocalhost(server.issuer) ? ' The issuer is on localhost, which allows it; production does not.' : ''
  return [
    `\nservice ${version}\n`,
    ...rows.map(([name = '', value]) => `  ${name.padEnd(10)} ${value}`),
    ...(unsafe.length > 0 ? [`\n  Unsafe as it is:${local}`, ...unsafe.map((each) => `  - ${each}`)] : []),
    '\n  In another terminal: `service quickstart` for a first token, `service doctor` for a check.\n\n',
  ].join('\n')
}
