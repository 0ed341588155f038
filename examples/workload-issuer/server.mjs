// A test issuer of workload tokens. It publishes its keys by OpenID discovery, as a Kubernetes cluster and GitHub Actions do. Use it to
// try docs/guides/kubernetes.md and docs/guides/github-actions.md on one machine. A real issuer authenticates the workload first.
import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'

const { PORT = '3002' } = process.env
const ISSUER = `http://localhost:${PORT}`
const { privateKey, publicKey } = await generateKeyPair('RS256')
const keys = [{ ...(await exportJWK(publicKey)), kid: 'workloads-1', alg: 'RS256', use: 'sig' }]

const sign = ({ aud, sub, ...claims }) =>
  new SignJWT({ jti: randomUUID(), ...claims })
    .setProtectedHeader({ alg: 'RS256', kid: 'workloads-1' })
    .setIssuer(ISSUER)
    .setAudience(aud)
    .setSubject(sub)
    .setIssuedAt()
    .setNotBefore('0s')
    .setExpirationTime('1h')
    .sign(privateKey)

/** What the token of a GitHub Actions job says, in part. */
const JOB = {
  sub: 'repo:acme/tools:environment:production',
  repository: 'acme/tools',
  environment: 'production',
  ref: 'refs/heads/main',
  workflow_ref: 'acme/tools/.github/workflows/deploy.yml@refs/heads/main',
}

const ROUTES = {
  '/.well-known/openid-configuration': async () => JSON.stringify({ issuer: ISSUER, jwks_uri: `${ISSUER}/jwks` }),
  '/jwks': async () => JSON.stringify({ keys }),
  // As `kubectl create token`: sub and aud are parameters of the form.
  '/token': async (request) => sign(Object.fromEntries(new URLSearchParams(await text(request)))),
  // As the URL that GitHub Actions gives to a job with `permissions: id-token: write`.
  '/actions': async (_, { searchParams }) =>
    JSON.stringify({ value: await sign({ ...JOB, aud: searchParams.get('audience') }) }),
}

const server = createServer(async (request, response) => {
  const url = new URL(request.url, ISSUER)
  const route = ROUTES[url.pathname] ?? ROUTES['/jwks']
  response.writeHead(200, { 'content-type': 'application/json' }).end(await route(request, url))
})
server.listen(Number(PORT), 'localhost')
