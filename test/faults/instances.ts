// One process of the built binary with files in a folder of its own.
import path from 'node:path'
import { afterAll } from 'vitest'
import { post } from '../support/flow.ts'
import { ADMIN_KEY } from '../support/service.ts'
import { freePort } from '../support/wire.ts'
import type { Machine } from '../torture/history.ts'
import { Instance } from '../torture/instance.ts'

const made: Instance[] = []
afterAll(() => Promise.all(made.map((instance) => instance.kill())))

export interface Placed {
  instance: Instance
  env: Record<string, string>
  admin: string
}

/** An instance whose database and keys are in `folder`; not started yet. */
export async function placed(folder: string, more: Record<string, string> = {}): Promise<Placed> {
  const [port, admin] = [await freePort(), await freePort()]
  const env = {
    SERVICE_SERVER_ISSUER: `http://localhost:${port}`,
    SERVICE_SERVER_ADDRESS: `127.0.0.1:${port}`,
    SERVICE_ADMIN_ADDRESS: `127.0.0.1:${admin}`,
    SERVICE_ADMIN_API_KEY: ADMIN_KEY,
    SERVICE_STORAGE_SQLITE_PATH: path.join(folder, 'service.db'),
    SERVICE_SIGNING_KEY_PATH: path.join(folder, 'keys'),
    SERVICE_RATE_LIMIT_ENABLED: 'false',
    ...more,
  }
  const instance = new Instance(env)
  made.push(instance)
  return { instance, env, admin: `http://127.0.0.1:${admin}` }
}

/** Asks for a machine token. */
export const machineToken = ({ instance }: Pick<Placed, 'instance'>, client: Machine): ReturnType<typeof post> =>
  post(`${instance.base}/oauth/token`, client, { grant_type: 'client_credentials' })
