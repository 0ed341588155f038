import { expect, test } from 'vitest'
import type { App } from '../../src/context.ts'
import { effectiveDcrMode } from '../../src/oauth/registration_mode.ts'

const appWith = (saved: string | undefined, mode: App['config']['dcr']['mode']) =>
  ({ config: { dcr: { mode } }, store: { findSetting: async () => saved } }) as unknown as App

test.each([
  ['the configuration decides while nothing is set', undefined, 'approved_redirects', 'approved_redirects'],
  ['what is set wins', 'open', 'admin_only', 'open'],
  ['a mode that this version does not know closes the door', 'by_invitation', 'open', 'admin_only'],
] as const)('%s', async (_rule, saved, configured, effective) => {
  expect(await effectiveDcrMode(appWith(saved, configured))).toBe(effective)
})
