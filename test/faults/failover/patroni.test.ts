// A Patroni cluster that is failed over under load, by a switchover and by the death of the primary in turns.
// SERVICE_FAILOVER_PATRONI says how often.
import { afterAll, afterEach, expect, test } from 'vitest'
import { type Instances, openInstances } from './lab.ts'
import { measure, type Row, tableOf } from './measure.ts'
import { fetchPatroni, PatroniCluster } from './patroni.ts'

const FAILOVERS = Number(process.env['SERVICE_FAILOVER_PATRONI'] ?? 2)
const TEST_MS = 120_000

const LEFT_OUT = fetchPatroni()
const rows: Row[] = []
let cluster: PatroniCluster | undefined
let served: Instances | undefined
afterEach(async () => {
  await Promise.all(served?.instances.map((instance) => instance.kill()) ?? [])
  await cluster?.close()
})
afterAll(() => void process.stdout.write(`\n${LEFT_OUT || tableOf(rows)}\n`))

test(`nothing is lost in ${FAILOVERS} failovers, and tokens are issued again automatically`, {
  timeout: (FAILOVERS + 1) * TEST_MS,
}, async ({ skip }) => {
  skip(LEFT_OUT !== '', LEFT_OUT)
  const patroni = await PatroniCluster.open()
  cluster = patroni
  const [leader] = await patroni.roles()
  await leader.sql('CREATE ROLE service LOGIN')
  await leader.sql('CREATE DATABASE service OWNER service')
  const [a, b] = patroni.nodes
  const dsn = `postgres://service@127.0.0.1:${a.port},127.0.0.1:${b.port}/service?target_session_attrs=read-write&sslmode=disable`
  const instances = await openInstances([dsn, dsn], 10)
  served = instances
  for (let n = 0; n < FAILOVERS; n++) {
    const [primary, standby] = await patroni.roles()
    const dies = n % 2 === 1
    const row = await measure(
      { ...instances, servers: () => patroni.nodes },
      dies ? 'Patroni, kill' : 'Patroni, switchover',
      async () => {
        if (dies) await primary.kill()
        else await primary.handOver(standby)
        await patroni.until(() => standby.is('primary'))
        await patroni.until(async () => (await standby.sql('SELECT pg_is_in_recovery() AS is'))[0]?.['is'] === false)
      },
    )
    rows.push(row)
    expect(row.broken, row.fault).toEqual([])
    if (dies) primary.start()
    await patroni.whole()
  }
})
