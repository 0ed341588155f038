// Whether users sign in with a password here.
import type { App } from '../../context.ts'

/** Whether users may sign in with a password. False when they sign in only at upstream providers. */
export const allowsPasswords = ({ config, oidc }: Pick<App, 'config' | 'oidc'>): boolean =>
  oidc.length === 0 || config.oidc.show_local_login
