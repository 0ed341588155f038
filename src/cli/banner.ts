// What `serve` prints on a terminal once it listens. Programs read the log instead.
import path from 'node:path'
import { warningsOf } from '../config/notices.ts'
import type { Config } from '../config/schema.ts'
import { isLocalhost } from '../lib/url.ts'
import { originOf } from './origin.ts'

/** The addresses of both listeners, the place of the data, and the warnings, unless the log shows them on the same terminal. The DCR mode is the one in force. */
export function bannerOf(config: Config, dcrMode: Config['dcr']['mode'], version: string, logIsShown: boolean): string {
  const { server, admin, storage, signing } = config
  const sqlite = storage.driver === 'sqlite'
  const rows = [
    ['clients', server.issuer],
    ['operators', admin.enabled ? `${originOf(admin.address)}/admin/ui/` : 'off (admin.enabled)'],
    ['data', sqlite ? path.resolve(storage.sqlite.path) : 'PostgreSQL'],
    ['keys', signing.key_store === 'keyfile' ? path.resolve(signing.key_path) : signing.key_store],
  ]
  const unsafe = logIsShown ? [] : warningsOf(config, dcrMode)
  const local = isLocalhost(server.issuer)
    ? ' With an issuer that is not on localhost, a missing secret or admin key prevents the start. Other settings only cause a warning.'
    : ''
  return [
    `\nservice ${version}\n`,
    ...rows.map(([name = '', value]) => `  ${name.padEnd(10)} ${value}`),
    ...(unsafe.length > 0 ? [`\n  Unsafe settings:${local}`, ...unsafe.map((each) => `  - ${each}`)] : []),
    '\n  In another terminal: `service quickstart` for a first token, `service doctor` for a check.\n\n',
  ].join('\n')
}
