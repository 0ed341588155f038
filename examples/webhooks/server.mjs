// A receiver of webhooks: it verifies the signature of every event (Standard Webhooks), and prints the event. The variables PORT and
// SECRET_FILE, the answer of `service admin webhook create --json`, configure it. docs/guides/webhooks.md explains it.
import { createHmac, timingSafeEqual } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'

const { PORT = '3000', SECRET_FILE = 'webhook.json' } = process.env
const MAX_AGE_SECONDS = 300
/** The ids of events that were processed. A program of several processes keeps them in its database. */
const seen = new Set()

/** Whether one of the signatures is by our secret, and the time of the attempt is near. */
function isAuthentic(headers, body) {
  if (!existsSync(SECRET_FILE)) return false
  const { secret } = JSON.parse(readFileSync(SECRET_FILE, 'utf8'))
  const { 'webhook-id': id, 'webhook-timestamp': time, 'webhook-signature': signatures = '' } = headers
  if (!(Math.abs(Date.now() / 1000 - Number(time)) < MAX_AGE_SECONDS)) return false
  const key = Buffer.from(secret.replace('whsec_', ''), 'base64')
  const wanted = Buffer.from(`v1,${createHmac('sha256', key).update(`${id}.${time}.${body}`).digest('base64')}`)
  return signatures
    .split(' ')
    .some((each) => each.length === wanted.length && timingSafeEqual(Buffer.from(each), wanted))
}

createServer(async (request, response) => {
  if (request.url === '/health') return response.writeHead(200).end()
  let body = ''
  for await (const chunk of request) body += chunk
  if (!isAuthentic(request.headers, body)) return response.writeHead(401).end()
  // An event may come twice: after a response that was lost, for example.
  const id = request.headers['webhook-id']
  if (!seen.has(id)) console.log(`${JSON.parse(body).type} ${JSON.parse(body).data.client_id}`)
  seen.add(id)
  response.writeHead(204).end()
}).listen(Number(PORT), () => console.log(`waiting for events on port ${PORT}`))
