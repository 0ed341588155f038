// `admin user import`: creates users from a file, batch by batch, through the admin API.
import type { Command } from 'commander'
import type { z } from 'zod'
import { actionNamed } from '../admin/index.ts'
import { EXISTING, importable, MAX_IMPORTED } from '../admin/user_import.ts'
import type { Env } from '../config/env.ts'
import { loadConfig } from '../config/load.ts'
import { OAuthError } from '../lib/error.ts'
import { issuesOf } from '../lib/field.ts'
import { readText } from './input.ts'
import { print, UsageError } from './output.ts'
import { type AdminClient, withSender } from './send.ts'
import { commandAt, type GlobalOptions } from './tree.ts'
import { readUsers, type UserLine } from './user_file.ts'

const MAX_FILE_BYTES = 256 * 1024 * 1024
/** A batch stays well below the largest body that the admin API takes. */
const MAX_BATCH_BYTES = 512 * 1024
const MAX_FAULTS = 100

interface Flags {
  file: string
  existing: (typeof EXISTING)[number]
  dryRun?: boolean
}
/** A valid user of the file. */
type Line = Omit<UserLine, 'user'> & { user: z.input<typeof importable> }
interface Imported {
  created: number
  skipped: number
}

/** Adds the command to `service admin user`. */
export function addImportCommand(program: Command, env: Env): void {
  commandAt(program, 'admin user import')
    .description(
      'Creates users from a file: one JSON object a line, or CSV with a header. Nothing is written when a line has a mistake.',
    )
    .requiredOption('-f, --file <file>', 'File to read. - reads standard input.')
    .option('--existing <refuse|skip>', 'What to do if a user already has the email.', EXISTING[0])
    .option('--dry-run', 'Only check the file.')
    .action(async (flags: Flags) => {
      const { config: file, json } = program.opts<GlobalOptions>()
      if (!EXISTING.includes(flags.existing)) throw new UsageError(`--existing must be one of ${EXISTING.join(', ')}`)
      const lines = validated(await readText(flags.file, MAX_FILE_BYTES))
      await withSender(loadConfig(file, env).config, env, (sender) => importUsers(lines, flags, sender, json))
    })
}

/** The users of a file. Throws UsageError that names every fault with its line. */
function validated(text: string): Line[] {
  const faults: string[] = []
  const lines = readUsers(text, Object.keys(importable.shape), faults)
  const places = new Map<string, number>()
  const valid = lines.filter(({ line, user }): boolean => {
    const { error, data } = importable.safeParse(user)
    faults.push(...(error ? issuesOf(error) : []).map(({ path, message }) => `line ${line}: ${path} ${message}`))
    const key = data?.email.toLowerCase() ?? ''
    const first = data && places.get(key)
    if (first) faults.push(`line ${line}: line ${first} has the same email`)
    places.set(key, line)
    return data !== undefined
  })
  refuse(faults)
  return valid as Line[]
}

/** Checks every batch before the first one is written, so that a fault in the last line prevents every write. */
async function importUsers(lines: readonly Line[], { dryRun, existing }: Flags, sender: AdminClient, json?: boolean) {
  const action = actionNamed('user', 'import')
  const batches = [...batchesOf(lines)]
  const send = async (batch: readonly Line[], dry_run: boolean) =>
    (await sender.send(action, {
      params: {},
      query: dry_run ? { dry_run } : {},
      body: { users: batch.map(({ user }) => user), existing },
    })) as Imported
  const done = { created: 0, skipped: 0 }
  const add = ({ created, skipped }: Imported) => {
    done.created += created
    done.skipped += skipped
  }

  const faults: string[] = []
  for (const batch of batches) add(await send(batch, true).catch((error) => noted(error, batch, faults)))
  refuse(faults)
  if (dryRun) return print({ users: lines.length, ...done, dry_run: true }, json)
  Object.assign(done, { created: 0, skipped: 0 })
  try {
    for (const batch of batches) add(await send(batch, false))
  } finally {
    // Printed even when a later batch is refused, because the earlier batches are stored.
    print({ users: lines.length, ...done }, json)
  }
}

function* batchesOf(lines: readonly Line[]): Generator<Line[]> {
  let [batch, bytes]: [Line[], number] = [[], 0]
  for (const each of lines) {
    const size = Buffer.byteLength(JSON.stringify(each.user))
    if (batch.length === MAX_IMPORTED || (batch.length > 0 && bytes + size > MAX_BATCH_BYTES)) {
      yield batch
      ;[batch, bytes] = [[], 0]
    }
    batch.push(each)
    bytes += size
  }
  if (batch.length > 0) yield batch
}

/** Adds the faults that the server found in a batch, with their lines. Throws any other error. */
function noted(error: unknown, batch: readonly Line[], faults: string[]): Imported {
  const errors = error instanceof OAuthError ? error.more.body?.['errors'] : undefined
  if (!Array.isArray(errors)) throw error
  for (const { index, message } of errors as { index: number; message: string }[])
    faults.push(`line ${batch[index]?.line}: ${message}`)
  return { created: 0, skipped: 0 }
}

function refuse(faults: readonly string[]): void {
  if (faults.length === 0) return
  const more = faults.length - MAX_FAULTS
  throw new UsageError(
    ...faults.slice(0, MAX_FAULTS),
    ...(more > 0 ? [`and ${more} more mistakes`] : []),
    'nothing was imported',
  )
}
