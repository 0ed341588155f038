// npm run soak [-- --minutes 5]: mixed load on one process for half an hour, then the figures by the minute.
import { parseArgs } from 'node:util'

const { values } = parseArgs({ options: { minutes: { type: 'string', default: '30' } } })
if (!(Number(values.minutes) > 0)) throw new Error('--minutes takes a number above 0')
process.env.SERVICE_SOAK_MINUTES = values.minutes
process.argv = [
  ...process.argv.slice(0, 2),
  'node_modules/vitest/vitest.mjs',
  'run',
  'test/soak',
  '--disable-console-intercept',
]
await import('./run.mjs')
