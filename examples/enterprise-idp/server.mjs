// A test identity provider of a company. It serves its keys, and it signs an ID-JAG assertion or an access token for every request. Use it to
// try docs/guides/enterprise.md on one machine. A real provider signs the employee in first and checks what each app may access.
import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'

const { PORT = '3001' } = process.env
const ISSUER = `http://localhost:${PORT}`
const { privateKey, publicKey } = await generateKeyPair('ES256')
/** What it signs, by path: an assertion for the service, or an access token of its own. */
const TYPS = { '/assertion': 'oauth-id-jag+jwt', '/token': 'at+jwt' }
const keys = [{ ...(await exportJWK(publicKey)), kid: 'company-1', alg: 'ES256', use: 'sig' }]

const server = createServer(async (request, response) => {
  const json = (body) => response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  const typ = TYPS[request.url]
  if (!typ) return json(request.url === '/jwks.json' ? { keys } : { issuer: ISSUER })
  // aud: the issuer of the service, or the API of an access token; client_id: the app's client_id there; sub: the employee.
  const { aud, client_id, sub, ...claims } = Object.fromEntries(new URLSearchParams(await text(request)))
  const token = await new SignJWT({ client_id, ...claims })
    .setProtectedHeader({ alg: 'ES256', kid: 'company-1', typ })
    .setIssuer(ISSUER)
    .setAudience(aud)
    .setSubject(sub)
    .setJti(randomUUID())
    .setIssuedAt()
    .setExpirationTime('5m')
    .sign(privateKey)
  response.end(token)
})
server.listen(Number(PORT), 'localhost')
