// A machine client that authenticates with a key of its own. docs/guides/private-key-jwt.md runs it. `keys` prints the public key for the
// registration, `token` gets an access token. The private key never leaves the file.
import { createPrivateKey, createPublicKey, randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { calculateJwkThumbprint, exportJWK, SignJWT } from 'jose'

const { ISSUER, CLIENT_ID = 'mailer', KEY = 'key.pem' } = process.env
const key = createPrivateKey(readFileSync(KEY))
const jwk = await exportJWK(createPublicKey(key))
// The thumbprint is a key id that never has to be chosen.
const kid = await calculateJwkThumbprint(jwk)

/** Prints the JWK set that the client is registered with. */
const keys = () => console.log(JSON.stringify({ keys: [{ ...jwk, kid, alg: 'ES256', use: 'sig' }] }))

/** A new assertion for each request: the server accepts each of them once. */
const assertion = () =>
  new SignJWT({ jti: randomUUID() })
    .setProtectedHeader({ alg: 'ES256', kid })
    .setIssuer(CLIENT_ID)
    .setSubject(CLIENT_ID)
    .setAudience(ISSUER)
    .setIssuedAt()
    .setExpirationTime('1 minute')
    .sign(key)

async function token(resource, scope) {
  const metadata = await (await fetch(`${ISSUER}/.well-known/oauth-authorization-server`)).json()
  const response = await fetch(metadata.token_endpoint, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: await assertion(),
      resource,
      scope,
    }),
  })
  console.log(JSON.stringify(await response.json()))
}

const [command, ...args] = process.argv.slice(2)
await { keys, token }[command](...args)
