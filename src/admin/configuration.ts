// The configuration of the running service.
import { z } from 'zod'
import { ConfigError, redacted } from '../config/load.ts'
import { OAuthError } from '../lib/error.ts'
import { word } from '../lib/field.ts'
import { formatDuration } from '../lib/time.ts'
import { type AdminResource, action } from './action.ts'
import * as answers from './answers/service.ts'

export const configResource: AdminResource = {
  name: 'config',
  doc: 'The configuration of the running service.',
  actions: {
    show: action('GET /admin/system/config', {
      doc: 'Shows the effective configuration. Secrets are masked.',
      answer: answers.configuration,
      query: z.strictObject({
        durations: word(['seconds', 'text'])
          .prefault('seconds')
          .describe('Durations as numbers of seconds, or with units such as 1h30m.'),
      }),
      run: async ({ config }, { query: { durations } }) => ({
        shown: redacted(config, durations === 'text' ? formatDuration : undefined),
      }),
    }),
    reload: action('POST /admin/system/config/reload', {
      doc: 'Reads the configuration file again, as SIGHUP does. Applies the keys that can change at run time, and names the changed keys that need a restart. A configuration with an error changes nothing. Every other instance on the database then reads its own file.',
      answer: answers.reloaded,
      tool: { name: 'reload_configuration', title: 'Reload the configuration' },
      needs: 'admin',
      audit: 'config_reloaded',
      async run({ reload }) {
        if (!reload)
          throw new OAuthError('temporarily_unavailable', 'no server is running, so there is nothing to reload')
        const shown = await reload().catch((error: unknown) => {
          if (error instanceof ConfigError)
            throw new OAuthError('invalid_request', error.message, { reason: 'config_invalid' })
          throw error
        })
        const { applied, needs_restart } = shown
        return applied.length > 0 ? { shown, noted: { detail: { applied, needs_restart } } } : { shown }
      },
    }),
  },
}
