// The secrets that seal cookies and make MACs.
import type { Config } from './schema.ts'

/** The first one seals. Values that any of them sealed are accepted. */
export type SessionSecrets = readonly [string, ...string[]]

/** The secrets of session.secrets, or that of session.secret. Undefined when neither is set. */
export function sessionSecrets({ session }: Config): SessionSecrets | undefined {
  const [first, ...others] = session.secrets.length > 0 ? session.secrets : [session.secret]
  return first ? [first, ...others] : undefined
}
