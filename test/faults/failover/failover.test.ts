// Faults of a real PostgreSQL with a standby, under two instances and load. Each row is measured; the assertions hold on any
// machine: no loss, no second use, never a 500, never more connections than configured.
// SERVICE_FAILOVER_ROUNDS says how often; SERVICE_FAILOVER_CONNS sets max_conns.
import { execFileSync } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, afterEach, describe, expect, test } from 'vitest'
import { unprivileged } from '../../../bench/peers/postgres_server.ts'
import { PostgresConnection } from '../../../src/store/postgres/connection.ts'
import { eventually, pause } from '../../support/wire.ts'
import { Lab, type LabOptions } from './lab.ts'
import { measure, type Row, tableOf } from './measure.ts'
import { hasProgram, type Part, startHaproxy, startPgBouncer } from './parts.ts'
import { programsOf, type Version } from './server.ts'

const ROUNDS = Number(process.env['SERVICE_FAILOVER_ROUNDS'] ?? 1)
const MAX_CONNS = Number(process.env['SERVICE_FAILOVER_CONNS'] ?? 10)
/** One connection listens, one makes partitions. */
const MORE_CONNS = 2
const ROUND_MS = 240_000
const TOO_LONG_MS = 20_000

const rows: Row[] = []
let lab: Lab | undefined
const parts: Part[] = []
afterEach(async () => {
  await lab?.close()
  lab = undefined
  await Promise.all(parts.splice(0).map((part) => part.close()))
})
afterAll(() => void process.stdout.write(`\n${tableOf(rows)}\n`))

const opened = async (options: Partial<LabOptions> & { version: Version }): Promise<Lab> => {
  lab = new Lab({ max_conns: MAX_CONNS, synchronous: true, ...options })
  return lab.open()
}
const leftOut = (version: Version): string => {
  const programs = programsOf(version)
  return typeof programs === 'string' ? programs : ''
}

interface Fault {
  name: string
  happen(lab: Lab): Promise<void>
  /** Whether the standby is the primary afterwards. */
  moves: boolean
}
const FAULTS: readonly Fault[] = [
  {
    name: 'restart',
    moves: false,
    async happen({ primary }) {
      await primary.stop()
      await primary.start()
      // A commit waits for the standby, which must find its primary again.
      await eventually(async () => (await primary.sql('SELECT 1 FROM pg_stat_replication')).length === 1)
    },
  },
  {
    name: 'switchover',
    moves: true,
    async happen({ primary, standby }) {
      await primary.stop()
      await standby.promote()
    },
  },
  {
    name: 'kill',
    moves: true,
    async happen({ primary, standby }) {
      await primary.kill()
      await standby.promote()
    },
  },
  {
    name: 'silent loss',
    moves: true,
    async happen(at) {
      for (const line of at.linesTo(at.primary)) line.stall()
      await at.primary.kill()
      await at.standby.promote()
    },
  },
  {
    name: 'standby lost for 12 s',
    moves: false,
    async happen({ standby }) {
      await standby.stop()
      await pause(12_000)
      await standby.start()
    },
  },
]
const holds = (row: Row, most = MAX_CONNS + MORE_CONNS) => {
  rows.push(row)
  expect(row.broken, row.fault).toEqual([])
  // Far beyond the need of a quiet machine, and far below the cost of a hung connection.
  expect(Math.max(row.firstToken, row.slowest), `milliseconds, ${row.fault}`).toBeLessThan(TOO_LONG_MS)
  expect(row.backends, `connections of one instance, ${row.fault}`).toBeLessThanOrEqual(most)
}

/** Left out in one clear line, and counted as skipped. */
const need = (skip: (condition: boolean, note: string) => void, reason: string) => {
  if (reason) process.stdout.write(`${reason}\n`)
  skip(reason !== '', reason)
}

describe.for<Version>(['15', '18'])('PostgreSQL %s with a synchronous standby', (version) => {
  test('nothing that was answered is lost, and tokens are issued again automatically', {
    timeout: ROUND_MS * ROUNDS,
  }, async ({ skip }) => {
    need(skip, leftOut(version))
    const at = await opened({ version })
    // One version has every fault, the other one those that are most frequent.
    const faults = FAULTS.filter(({ name }) => version === '15' || ['kill', 'silent loss'].includes(name))
    for (let round = 0; round < ROUNDS; round++)
      for (const { name, happen, moves } of faults) {
        holds(await measure(at, `${name} (${version})`, happen))
        if (moves) await at.renew()
      }
  })
})

describe('faults of a proxy or pooler', () => {
  const restart = async ({ primary }: Lab) => {
    await primary.stop()
    await primary.start()
  }

  test('PgBouncer in session mode recovers from a restart of the server behind it', { timeout: ROUND_MS }, async ({
    skip,
  }) => {
    need(
      skip,
      leftOut('15') || (hasProgram('pgbouncer') ? '' : 'PgBouncer is not installed (apt-get install pgbouncer)'),
    )
    const at = await opened({
      version: '15',
      through: async ([port]) => {
        parts.push(await startPgBouncer(port, 'default_pool_size = 50', 'service'))
        return `postgres://service@127.0.0.1:${parts.at(-1)?.port}/service?sslmode=disable`
      },
    })
    holds(await measure(at, 'restart behind PgBouncer (15)', restart))
  })

  test('HAProxy recovers from a killed server behind it', { timeout: ROUND_MS }, async ({ skip }) => {
    need(skip, leftOut('15') || (hasProgram('haproxy') ? '' : 'HAProxy is not installed (apt-get install haproxy)'))
    const at = await opened({
      version: '15',
      through: async (ports) => {
        parts.push(await startHaproxy(ports))
        return `postgres://service@127.0.0.1:${parts.at(-1)?.port}/service?sslmode=disable&target_session_attrs=read-write`
      },
    })
    holds(
      await measure(at, 'kill behind HAProxy (15)', async ({ primary, standby }) => {
        await primary.kill()
        await standby.promote()
      }),
    )
  })
})

describe('resources of the server', () => {
  test('the service recovers when other clients used every connection', { timeout: ROUND_MS }, async ({ skip }) => {
    need(skip, leftOut('15'))
    const at = await opened({ version: '15' })
    holds(await measure(at, 'connections taken by others for 8 s (15)', takeConnections))
  })

  test('the service recovers from a full tablespace', { timeout: ROUND_MS }, async ({ skip }) => {
    need(skip, leftOut('15') || noTmpfs)
    const tablespace = mkdtempSync(path.join(tmpdir(), 'service-tablespace-'))
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64m', 'none', tablespace])
    unprivileged(tablespace)
    try {
      const at = await opened({ version: '15', synchronous: false, tablespace })
      holds(
        await measure(at, 'tablespace full for 8 s (15)', async () => {
          const filler = fill(tablespace)
          await pause(FAULT_MS)
          rmSync(filler)
        }),
      )
    } finally {
      await lab?.close()
      lab = undefined
      execFileSync('umount', ['-l', tablespace])
    }
  })
})
const noTmpfs = process.getuid?.() === 0 ? '' : 'A full tablespace was not tested: only root mounts a small file system'
const FAULT_MS = 8000

async function takeConnections({ primary }: Lab): Promise<void> {
  const others: PostgresConnection[] = []
  const take = async () => {
    const other = new PostgresConnection({ place: { dsn: primary.dsn.replace('postgres@', 'service@') }, sessionMs: 0 })
    await other.connect()
    others.push(other)
  }
  const takeAll = async () => {
    for (let full = false; !full; )
      full = await take().then(
        () => false,
        () => true,
      )
  }
  await takeAll()
  await primary.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'instance-%'")
  for (const end = performance.now() + FAULT_MS; performance.now() < end; await pause(100)) await takeAll()
  await Promise.all(others.map((other) => other.end()))
}

function fill(folder: string): string {
  const file = path.join(folder, 'filler')
  const filler = openSync(file, 'w')
  try {
    for (let bytes = 1 << 20; bytes > 0; )
      try {
        if (writeSync(filler, Buffer.alloc(bytes)) < bytes) throw new Error('full')
      } catch {
        // Smaller and smaller blocks, until no byte is free.
        bytes >>= 1
      }
  } finally {
    closeSync(filler)
  }
  return file
}
