// The instances of the service on one database.
import { z } from 'zod'
import type { App } from '../context.ts'
import { rfc3339 } from '../lib/time.ts'
import { differingSettings, type Instance } from '../records/instance.ts'
import { type AdminResource, action } from './action.ts'
import * as answers from './answers/instances.ts'

export const instances: AdminResource = {
  name: 'instance',
  doc: 'The instances of the service on this database.',
  columns: ['host', 'address', 'version', 'started_at', 'threads', 'differs'],
  actions: {
    list: action('GET /admin/instances', {
      doc: 'Lists the running instances on this database, the one that started first at the top, with the settings in which they differ. With SQLite it lists nothing, because a server is alone on its file.',
      answer: z.array(answers.instance),
      run: async ({ store }: App) => {
        const all = await store.listInstances()
        return { shown: all.map((each) => shown(each, all[0])) }
      },
    }),
  },
}

const shown = ({ host, address, version, started_at, threads, fingerprints }: Instance, first?: Instance) => ({
  host,
  address,
  version,
  started_at: rfc3339(started_at),
  threads,
  differs: differingSettings([first?.fingerprints ?? {}, fingerprints ?? {}]),
})
