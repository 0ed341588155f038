// The commands of the first minutes: quickstart, try and doctor.
import type { Command } from 'commander'
import type { Env } from '../config/env.ts'
import { ConfigError, type LoadedConfig, loadConfig } from '../config/load.ts'
import type { Config } from '../config/schema.ts'
import { readBuild } from '../lib/build.ts'
import type { Finding } from './doctor/check.ts'
import { EXIT, print, UsageError } from './output.ts'
import type { AdminClient } from './send.ts'
import { commandAt, type GlobalOptions } from './tree.ts'

/** Adds the commands; `exit` is told how the check ended. */
export function addFirstSteps(program: Command, env: Env, exit: (code: number) => void): void {
  const options = () => program.opts<GlobalOptions>()
  const within = async (work: (config: Config, sender: AdminClient) => Promise<void>) => {
    const { withSender } = await import('./send.ts')
    const { config } = loadConfig(options().config, env)
    await withSender(config, env, (sender) => work(config, sender))
  }

  program
    .command('quickstart')
    .description(
      'Makes a resource, a client and a token on the running server, and prints the commands that do the same.',
    )
    .action(() =>
      within(async (config, sender) => {
        const { quickstart, quickstartText } = await import('./tour/quickstart.ts')
        const toured = await quickstart(config, sender)
        if (options().json) print(toured, true)
        else process.stdout.write(quickstartText(toured))
      }),
    )

  commandAt(program, 'try').description('Walks a flow against the running server.')
  commandAt(program, 'try authorize')
    .description('Signs a person in with the browser, as a native client, and shows the token.')
    .option('--resource <slug>', 'What the token is for; the only resource without it.')
    .option('--scope <names>', 'What to ask for, separated by spaces; everything without it.')
    .option('--port <number>', 'Where to wait for the browser; any free port without it.', '0')
    .action((flags: { resource?: string; scope?: string; port: string }) =>
      within(async (config, sender) => {
        const port = Number(flags.port)
        if (!Number.isInteger(port) || port < 0 || port > 65_535) throw new UsageError('--port must be 0 to 65535')
        const { tryAuthorize } = await import('./tour/authorize.ts')
        const say = (url: string) => process.stderr.write(`Open this address in a browser:\n${url}\n`)
        print(await tryAuthorize(config, sender, { ...flags, port }, say), options().json)
      }),
    )

  program
    .command('doctor')
    .description(
      'Checks settings, files, the database and the running server, and says what to do. Ends with 1 when something fails.',
    )
    .option('--running', 'A server that does not answer is a failure; so it is where one has the SQLite file.')
    .action(async ({ running = false }: { running?: boolean }) => {
      const findings = await examine(options().config, env, running)
      const { findingsText } = await import('./doctor/check.ts')
      if (options().json) print(findings, true)
      else process.stdout.write(`${findingsText(findings)}\n`)
      exit(findings.some(({ result }) => result === 'fail') ? EXIT.failed : EXIT.ok)
    })
}

async function examine(file: string | undefined, env: Env, running: boolean): Promise<Finding[]> {
  const { fail } = await import('./doctor/check.ts')
  let loaded: LoadedConfig
  try {
    loaded = loadConfig(file, env)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    const fix = 'see docs/reference/configuration.md'
    return error.problems.map(({ key, message }) => fail('configuration', `${key} ${message}`, fix))
  }
  const { config, warnings } = loaded
  const { checkKeys } = await import('./doctor/keys.ts')
  const { checkMachine } = await import('./doctor/machine.ts')
  const { checkServer } = await import('./doctor/server.ts')
  const { checkStorage } = await import('./doctor/storage.ts')
  const { createFetcher } = await import('../net/fetch.ts')
  // It asks the addresses of this machine and of its own network: that is where the set-up is.
  const fetcher = createFetcher({ allowPrivate: true, userAgent: `service-doctor/${readBuild().version}` })
  const storage = await checkStorage(config)
  const isBroken = storage.some(({ result }) => result === 'fail')
  return [
    ...checkMachine(config, warnings),
    ...storage,
    ...(await checkKeys(config, !isBroken)),
    ...(await checkServer(config, { env, fetcher, running })),
  ]
}
