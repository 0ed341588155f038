// The cost of the limits on requests: the same load on two services in alternation, one with the limits and shares of all callers, of
// addresses and of clients (which no request reaches), and one without. `node dist/bench/peers/limits.js [seconds] [rounds]`
import { request } from 'node:http'
import { stopAll } from '../run/children.ts'
import { compareSettings } from './in_turns.ts'

const ON = {
  SERVICE_RATE_LIMIT_ENABLED: 'true',
  SERVICE_RATE_LIMIT_REQUESTS_PER_SECOND: '1000000',
  SERVICE_RATE_LIMIT_BURST: '1000000',
}
/** The share of an address is only counted while another address was seen within a minute. */
const OTHER_MS = 20_000

const [seconds = 10, rounds = 5] = process.argv.slice(2).map(Number)
try {
  const ratio = await compareSettings(ON, {}, { seconds, rounds }, ({ base }) => {
    const ask = () => request(`${base}/oauth/token`, { method: 'POST', localAddress: '127.0.0.2' }).end()
    ask()
    setInterval(ask, OTHER_MS).unref()
  })
  console.log(`on/off: ${ratio}`)
} finally {
  await stopAll()
}
