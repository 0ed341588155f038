// What operators do regularly, and what ends without them: the purge, the backup, the certificates of providers.
import type { App } from '../context.ts'
import { DAY } from '../lib/time.ts'
import { lastBackup } from '../store/backup.ts'
import { withXaa } from './resources/idps.ts'

/** `service purge` and `service backup` are to run every day; they are late after two. */
export const LATE = 2 * DAY
/** Automatic renewal is due long before this. */
export const ENDS_SOON = 14 * DAY

/** The last backup by `service backup`, in epoch seconds. Undefined if there was none, and with PostgreSQL, which has its own tools. */
export const lastBackupOf = async ({ config: { storage } }: Pick<App, 'config'>): Promise<number | undefined> =>
  storage.driver === 'sqlite' ? lastBackup(storage.sqlite.path) : undefined

/** When the certificates of the upstream providers end, in epoch seconds, by slug. Those of providers to which nothing has connected since the start are absent. */
export async function certificateEnds(app: App): Promise<Record<string, number>> {
  const { store, oidc, config, certificates } = app
  const [brokers, idps] = await Promise.all([store.listProviders(), withXaa(config) ? store.listIdps() : []])
  const urls: [string, unknown][] = [
    ...oidc.map(({ slug, settings }): [string, unknown] => [slug, settings.issuer]),
    ...idps.map(({ name, jwks_uri }): [string, unknown] => [name, jwks_uri]),
    ...brokers.map(({ slug, config_data }): [string, unknown] => [slug, config_data['token_url']]),
  ]
  return Object.fromEntries(
    urls.flatMap(([slug, url]) => {
      const end = typeof url === 'string' && URL.canParse(url) ? certificates.endOf(new URL(url).host) : undefined
      return end === undefined ? [] : [[slug, end]]
    }),
  )
}
