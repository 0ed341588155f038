// An agent that pays an invoice after a person has approved exactly this payment, on a device of their own (CIBA).
// Usage: `node agent.mjs EMAIL AMOUNT CURRENCY CREDITOR`. The variables ISSUER, BANK, CLIENT_ID and CLIENT_SECRET configure it.
import { setTimeout as pause } from 'node:timers/promises'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'

const { ISSUER = 'http://localhost:9000', BANK = 'http://localhost:3000/mcp', CLIENT_ID, CLIENT_SECRET } = process.env
const [login_hint, amount, currency, creditor] = process.argv.slice(2)
const payment = { amount, currency, creditor }

const authorization = `Basic ${Buffer.from(`${CLIENT_ID}:${CLIENT_SECRET}`).toString('base64')}`
async function post(url, form) {
  const response = await fetch(url, { method: 'POST', headers: { authorization }, body: new URLSearchParams(form) })
  return { isOk: response.ok, ...(await response.json()) }
}

// 1. Ask. The person reads the payment in the words of the bank, and the message to compare with what is shown here.
const metadata = await (await fetch(`${ISSUER}/.well-known/oauth-authorization-server`)).json()
const asked = await post(metadata.backchannel_authentication_endpoint, {
  login_hint,
  resource: BANK,
  binding_message: `Invoice of ${creditor}`,
  authorization_details: JSON.stringify([{ type: 'payment', ...payment }]),
})
if (!asked.isOk) throw new Error(`the request was refused: ${asked.error_description}`)
console.log(`${login_hint} decides at ${ISSUER}/account/requests about: Invoice of ${creditor}`)

// 2. Wait for the decision.
async function decided({ auth_req_id, interval }) {
  for (let seconds = interval; ; ) {
    await pause(1000 * seconds)
    const grant = { grant_type: 'urn:openid:params:grant-type:ciba', auth_req_id }
    const answer = await post(metadata.token_endpoint, grant)
    if (answer.isOk) return answer
    if (answer.error === 'slow_down') seconds += 5
    else if (answer.error !== 'authorization_pending') throw new Error(`not approved: ${answer.error_description}`)
  }
}
const { access_token } = await decided(asked)

// 3. Pay, with the token for this payment.
const client = new Client({ name: 'invoice-agent', version: '1.0.0' })
const headers = { authorization: `Bearer ${access_token}` }
await client.connect(new StreamableHTTPClientTransport(new URL(BANK), { requestInit: { headers } }))
const { content } = await client.callTool({ name: 'pay', arguments: payment })
console.log(content[0].text)
await client.close()
