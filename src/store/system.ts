// Operations on what the service knows about itself.
import { all, num, type Op, one, run, str } from './op.ts'

/** What operators set at run time under this name. */
export function* findSetting({ name }: { name: string }): Op<string | undefined> {
  const row = yield* one('SELECT value FROM runtime_settings WHERE name = ?', name)
  return row && str(row.value)
}

/** Sets it, whatever it was before. */
export function* saveSetting({ name, value, now }: { name: string; value: string; now: number }): Op<void> {
  yield* run(
    'INSERT INTO runtime_settings (name, value, updated_at) VALUES (?, ?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at',
    name,
    value,
    now,
  )
}

/** Remembers from when on an issuer is in force, if it is another one than before. */
export function* saveIssuer({ issuer, now }: { issuer: string; now: number }): Op<void> {
  const last = yield* one('SELECT issuer FROM issuers ORDER BY since DESC LIMIT 1')
  if (last?.issuer === issuer) return
  yield* run(
    'INSERT INTO issuers (since, issuer) VALUES (?, ?) ON CONFLICT (since) DO UPDATE SET issuer = excluded.issuer',
    last ? now : 0,
    issuer,
  )
}

/** The issuers that were in force, newest first. */
export function* listIssuers(): Op<{ since: number; issuer: string }[]> {
  return (yield* all('SELECT since, issuer FROM issuers ORDER BY since DESC')).map((row) => ({
    since: num(row.since),
    issuer: str(row.issuer),
  }))
}

/** Proves that the database answers. */
export function* readHealth(): Op<boolean> {
  return (yield* one('SELECT 1 AS ok'))?.ok === 1
}
