// Whether users sign in with a password here.
import type { App } from '../context.ts'

/** False when users sign in at upstream providers only. */
export const allowsPasswords = ({ config, oidc }: Pick<App, 'config' | 'oidc'>): boolean =>
  oidc.length === 0 || config.oidc.show_local_login
