// The observed behaviour of each client, in results/LANGUAGE.json: `npm run interop -- -u` writes it, docs/reference/clients.md shows it.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { expect } from 'vitest'
import { packageRoot } from '../../src/lib/paths.ts'

/** One client; a cell is `yes`, or what happens instead. */
export interface Row {
  client: string
  version: string
  registration: string
  sign_in: string
  refresh: string
  retry: string
  step_up: string
  machine: string
  /** The settings of the service that were not the default, beside those of the tests. */
  settings: string
  /** The client itself, or a request that its vendor published. */
  ran: string
  /** The day of the first such observation. */
  date: string
}

const FOLDER = path.join(packageRoot, 'test/interop/results')
/** Every service of these tests has this setting. */
const SETTINGS = '`oauth.refresh_grace: 30s`'
const EMPTY = { registration: '', sign_in: '', refresh: '', retry: '', step_up: '', machine: '', settings: SETTINGS }
const read = (file: string): Row[] => (existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : [])

/** Every row of every file, by name. */
export const allResults = (): Row[] =>
  readdirSync(FOLDER)
    .sort()
    .flatMap((name) => read(path.join(FOLDER, name)))

export class Results {
  private readonly file: string
  private readonly ran: string
  private readonly rows: Row[] = []

  constructor(name: string, ran = 'the client') {
    this.file = path.join(FOLDER, `${name}.json`)
    this.ran = ran
  }

  /** The row of a client, to be filled in. */
  row(client: string, version: string): Row {
    const row = { client, version, ...EMPTY, ran: this.ran, date: '' }
    this.rows.push(row)
    return row
  }

  /** Compares with the file, or writes it with `-u`. Unchanged rows keep their date. */
  async compare(): Promise<void> {
    const known = read(this.file)
    const today = new Date().toISOString().slice(0, 10)
    const dated = this.rows.map((row) => ({
      ...row,
      date: known.find((each) => isDeepStrictEqual({ ...each, date: '' }, row))?.date ?? today,
    }))
    await expect(`${JSON.stringify(dated, undefined, 2)}\n`).toMatchFileSnapshot(this.file)
  }
}
