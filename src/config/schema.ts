// Every configuration key, once. Defaults, parsing, environment names, the example file, the reference page, the editor
// schema and the redacted snapshot are all derived from here.
import type { Infer } from './key.ts'
import { oauthKeys } from './oauth_keys.ts'
import { platformKeys } from './platform_keys.ts'
import { uiKeys } from './ui_keys.ts'

export const schema = { ...platformKeys, ...oauthKeys, ui: uiKeys } as const

export type Config = Infer<typeof schema>
