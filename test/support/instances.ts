// A process of the built binary with its files in its own folder.
import path from 'node:path'
import { type How, Instance } from '../torture/instance.ts'
import { atEndOfFile } from './end_of_file.ts'
import { freePort } from './free_port.ts'
import { ADMIN_KEY } from './service.ts'

export interface Placed {
  instance: Instance
  env: Record<string, string>
  port: number
  issuer: string
  adminPort: number
  admin: string
}

/** An instance whose database and keys are in `folder`; not started yet. */
export async function placed(folder: string, more: Record<string, string> = {}, how: How = {}): Promise<Placed> {
  const [port, adminPort] = [await freePort(), await freePort()]
  const issuer = `http://localhost:${port}`
  const env = {
    SERVICE_SERVER_ISSUER: issuer,
    SERVICE_SERVER_ADDRESS: `127.0.0.1:${port}`,
    SERVICE_ADMIN_ADDRESS: `127.0.0.1:${adminPort}`,
    SERVICE_ADMIN_API_KEY: ADMIN_KEY,
    SERVICE_STORAGE_SQLITE_PATH: path.join(folder, 'service.db'),
    SERVICE_SIGNING_KEY_PATH: path.join(folder, 'keys'),
    SERVICE_RATE_LIMIT_ENABLED: 'false',
    ...more,
  }
  const instance = new Instance(env, how)
  atEndOfFile(() => instance.kill())
  return { instance, env, port, issuer, adminPort, admin: `http://127.0.0.1:${adminPort}` }
}
