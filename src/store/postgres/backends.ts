// Server processes of connections that were abandoned without an answer. Until the server confirms that such a process is gone, it may
// still commit its transaction, and it still occupies one of the connections of the server.
import type pg from 'pg'

/** Process ids are reused; together with the start time they are unique. */
const ID = "pid || ' ' || extract(epoch FROM backend_start)"
const OWN = `SELECT ${ID} AS id FROM pg_stat_activity WHERE pid = pg_backend_pid()`
const TERMINATE = `SELECT ${ID} AS id, pg_terminate_backend(pid) FROM pg_stat_activity WHERE ${ID} = ANY($1)`

interface IdRow {
  id: string
}

/** The server processes of a pool of connections. */
export class Backends {
  private readonly ids = new WeakMap<pg.ClientBase, string>()
  private readonly left = new Map<string, (() => void)[]>()
  private closed = false

  /** Stores the process id of a new connection. It stays unknown if the server does not provide it. */
  async identify(client: pg.ClientBase): Promise<void> {
    const rows = await client.query<IdRow>(OWN).then(
      (found) => found.rows,
      () => [],
    )
    for (const { id } of rows) this.ids.set(client, id)
  }

  /** Abandons a connection. Resolves when its process is known to be gone. */
  gone(client: pg.ClientBase): Promise<void> {
    const id = this.ids.get(client)
    if (id === undefined || this.closed) return Promise.resolve()
    return new Promise((resolve) => this.left.set(id, [...(this.left.get(id) ?? []), resolve]))
  }

  /** Terminates the abandoned processes, on another connection to the server. Resolves to whether all of them are gone. */
  async terminate(on: pg.ClientBase): Promise<boolean> {
    const asked = [...this.left.keys()]
    if (asked.length === 0) return true
    const { rows } = await on.query<IdRow>(TERMINATE, [asked])
    const there = new Set(rows.map(({ id }) => id))
    this.forget(asked.filter((id) => !there.has(id)))
    return there.size === 0
  }

  /** Ends every wait for an abandoned process, now and in future: nothing would terminate the processes any more. */
  close(): void {
    this.closed = true
    this.forget([...this.left.keys()])
  }

  private forget(ids: readonly string[]): void {
    for (const id of ids) {
      for (const resolve of this.left.get(id) ?? []) resolve()
      this.left.delete(id)
    }
  }
}
