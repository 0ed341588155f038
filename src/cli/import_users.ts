// `admin user import`: creates users from a file, batch by batch, through the admin API.
import type { Command } from 'commander'
import { actionNamed } from '../admin/index.ts'
import { importable } from '../admin/people/user_import.ts'
import type { Env } from '../config/env.ts'
import { OAuthError } from '../lib/error.ts'
import {
  checkUsers,
  EXISTING,
  type ImportCounts,
  MAX_USER_FILE,
  type SendUsers,
  writeUsers,
} from '../records/user_batches.ts'
import { readUsers } from '../records/user_file.ts'
import { readText } from './input.ts'
import { print, UsageError } from './output.ts'
import { CommandProgress } from './progress.ts'
import { type AdminClient, withSender } from './send.ts'
import { adminTargetOf, type TargetFlags } from './target.ts'
import { commandAt, type GlobalOptions } from './tree.ts'

const MAX_FAULTS = 100

interface Flags {
  file: string
  existing: (typeof EXISTING)[number]
  dryRun?: boolean
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
    .action(async (flags: Flags, command: Command) => {
      const options = command.optsWithGlobals<GlobalOptions & TargetFlags>()
      if (!EXISTING.includes(flags.existing)) throw new UsageError(`--existing must be one of ${EXISTING.join(', ')}`)
      const text = await readText(flags.file, MAX_USER_FILE)
      await withSender(await adminTargetOf(options, env), (sender) => importUsers(text, flags, sender, options.json))
    })
}

/** Checks every batch before the first one is written, so that a fault in the last line prevents every write. */
async function importUsers(text: string, { dryRun, existing }: Flags, sender: AdminClient, json?: boolean) {
  const { lines, faults } = readUsers(text, Object.keys(importable.shape))
  const progress = new CommandProgress('import')
  const sending = senderOf(sender, existing)
  let sent = 0
  // Every user is sent twice: to be checked, and to be written.
  const send: SendUsers = async (users, dry_run) => {
    const result = await sending(users, dry_run)
    sent += users.length
    progress.show(sent, sent / (2 * lines.length))
    return result
  }
  const checked = await checkUsers(lines, send)
  refuse([...faults, ...checked.faults], 'nothing was imported')
  if (dryRun) return print({ users: lines.length, ...checked.counts, dry_run: true }, json)
  const counts = { created: 0, skipped: 0 }
  try {
    refuse(await writeUsers(lines, send, counts), 'this batch was not imported')
  } finally {
    progress.end()
    // Printed even when a later batch is refused, because the earlier batches are stored.
    print({ users: lines.length, ...counts }, json)
  }
}

/** Sends a batch. Rejects with every refusal that does not name users of the batch. */
function senderOf(sender: AdminClient, existing: Flags['existing']): SendUsers {
  const action = actionNamed('user', 'import')
  return async (users, dry_run) => {
    try {
      const query = dry_run ? { dry_run } : {}
      return (await sender.send(action, { params: {}, query, body: { users, existing } })) as ImportCounts
    } catch (error) {
      const errors = error instanceof OAuthError ? error.more.body?.['errors'] : undefined
      if (!Array.isArray(errors)) throw error
      return { errors }
    }
  }
}

function refuse(faults: readonly string[], effect: string): void {
  if (faults.length === 0) return
  const more = faults.length - MAX_FAULTS
  throw new UsageError(...faults.slice(0, MAX_FAULTS), ...(more > 0 ? [`and ${more} more mistakes`] : []), effect)
}
