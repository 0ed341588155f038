// Server processes of connections that were given up without an answer. Until the server says that such a process is gone, it may
// still commit what it was asked to, and it still takes one of the connections that the server has.
import type pg from 'pg'

/** Process ids are used again: with the start it is exact. */
const ID = "pid || ' ' || extract(epoch FROM backend_start)"
const OWN = `SELECT ${ID} AS id FROM pg_stat_activity WHERE pid = pg_backend_pid()`
const TERMINATE = `SELECT ${ID} AS id, pg_terminate_backend(pid) FROM pg_stat_activity WHERE ${ID} = ANY($1)`

interface IdRow {
  id: string
}

/** The server processes of a pool of connections. */
export class Backends {
  readonly #ids = new WeakMap<pg.ClientBase, string>()
  readonly #left = new Map<string, (() => void)[]>()
  #closed = false

  /** Remembers the process of a new connection. On a server that cannot tell it, nothing is known of it later. */
  async identify(client: pg.ClientBase): Promise<void> {
    const rows = await client.query<IdRow>(OWN).then(
      (found) => found.rows,
      () => [],
    )
    for (const { id } of rows) this.#ids.set(client, id)
  }

  /** Gives a connection up. Resolves when its process is known to be gone. */
  gone(client: pg.ClientBase): Promise<void> {
    const id = this.#ids.get(client)
    if (id === undefined || this.#closed) return Promise.resolve()
    return new Promise((resolve) => this.#left.set(id, [...(this.#left.get(id) ?? []), resolve]))
  }

  /** Terminates the processes that were left, on another connection to the server. Resolves to whether all of them are gone. */
  async terminate(on: pg.ClientBase): Promise<boolean> {
    const asked = [...this.#left.keys()]
    if (asked.length === 0) return true
    const { rows } = await on.query<IdRow>(TERMINATE, [asked])
    const there = new Set(rows.map(({ id }) => id))
    this.#forget(asked.filter((id) => !there.has(id)))
    return there.size === 0
  }

  /** Nobody waits for them any more, nor for those that are given up from now on: nothing would terminate them. */
  close(): void {
    this.#closed = true
    this.#forget([...this.#left.keys()])
  }

  #forget(ids: readonly string[]): void {
    for (const id of ids) {
      for (const resolve of this.#left.get(id) ?? []) resolve()
      this.#left.delete(id)
    }
  }
}
