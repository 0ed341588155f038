// nginx with its JavaScript module asks the service about each token (RFC 7662).
import { existsSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, expect } from 'vitest'
import { machineToken, post } from '../support/flow.ts'
import { tempFile } from '../support/folder.ts'
import { freePort } from '../support/free_port.ts'
import { addClient, addResource, startService, type TestService } from '../support/service.ts'
import { describeProduct, startProgram } from './product.ts'

const [PROGRAM, MODULE] = ['/usr/sbin/nginx', '/usr/lib/nginx/modules/ngx_http_js_module.so']
const toolchain = [PROGRAM, MODULE].every((file) => existsSync(file))
  ? { command: [PROGRAM] }
  : { missing: 'nginx is left out: apt-get install nginx-light libnginx-mod-http-js' }
if ('missing' in toolchain) process.stderr.write(`${toolchain.missing}\n`)
const API = 'https://nginx.example.com/'

/** A request of `auth_request` cannot send one of its own through nginx, so that the script fetches. */
const script = (issuer: string, credentials: string) => `
async function check(r) {
  const token = (r.headersIn.Authorization || '').replace(/^Bearer /, '')
  const headers = { authorization: 'Basic ${credentials}', 'content-type': 'application/x-www-form-urlencoded' }
  const body = 'token=' + encodeURIComponent(token)
  const answer = await ngx.fetch('${issuer}/oauth/introspect', { method: 'POST', headers, body })
  const said = await answer.json()
  r.return(said.active === true ? 204 : 401)
}
export default { check }
`

const configuration = (folder: string, port: number) => `
load_module ${MODULE};
daemon off;
pid ${folder}/nginx.pid;
error_log stderr;
events {}
http {
  access_log off;
  client_body_temp_path ${folder}/body;
  proxy_temp_path ${folder}/proxy;
  fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi;
  scgi_temp_path ${folder}/scgi;
  js_path ${folder};
  js_import main from check.js;
  server {
    listen 127.0.0.1:${port};
    location / { auth_request /_check; try_files /none @inside; }
    location @inside { return 202; }
    location = /_check { internal; js_content main.check; }
  }
}
`

describeProduct(
  {
    name: 'nginx (auth_request, njs)',
    version: '1.22.1',
    from: 'Debian 12: nginx-light, libnginx-mod-http-js',
    set: [
      'a client with a secret in `policy.runtime.client_ids` of the resource',
      'a script of five lines that reads `active`',
    ],
  },
  toolchain,
  (works) => {
    let service: TestService
    let inside: string
    beforeAll(async () => {
      service = await startService()
      const { client_id, client_secret } = await addClient(service)
      await addResource(service, { uri: API, policy: { runtime: { client_ids: [client_id] } } })
      const credentials = Buffer.from(`${client_id}:${client_secret}`).toString('base64')
      const file = tempFile('check.js', script(service.issuer.replace('localhost', '127.0.0.1'), credentials))
      const port = await freePort()
      inside = `http://127.0.0.1:${port}/`
      const folder = path.dirname(file)
      await startProgram([PROGRAM, '-c', tempFile('nginx.conf', configuration(folder, port))], inside)
    })
    afterAll(() => service.close())

    works('an access token until it is revoked, by introspection', async () => {
      const client = await addClient(service)
      const { body } = await machineToken(service, client, { resource: API, scope: 'mcp:read' })
      const token = String(body['access_token'])
      const status = async () => (await fetch(inside, { headers: { authorization: `Bearer ${token}` } })).status
      expect([await status(), (await fetch(inside)).status]).toEqual([202, 401])
      await post(`${service.issuer}/oauth/revoke`, client, { token })
      expect(await status()).toBe(401)
    })
  },
)
