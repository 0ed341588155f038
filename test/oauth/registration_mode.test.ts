import { expect, test } from 'vitest'
import type { App } from '../../src/context.ts'
import { effectiveDcrMode } from '../../src/oauth/clients/registration_mode.ts'

const appWith = (saved: string | undefined, mode: App['config']['dcr']['mode']) =>
  ({ config: { dcr: { mode } }, store: { findSetting: async () => saved } }) as unknown as App

test.each([
  ['the configured mode applies while no mode is set', undefined, 'approved_redirects', 'approved_redirects'],
  ['a mode that was set takes precedence', 'open', 'admin_only', 'open'],
  ['an unknown mode means admin_only', 'by_invitation', 'open', 'admin_only'],
] as const)('%s', async (_rule, saved, configured, effective) => {
  expect(await effectiveDcrMode(appWith(saved, configured))).toBe(effective)
})
