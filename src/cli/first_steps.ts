// The commands of the first minutes: quickstart, try and doctor.
import type { Command } from 'commander'
import type { Finding } from '../admin/finding.ts'
import type { Env } from '../config/env.ts'
import { ConfigError, type LoadedConfig, loadConfig } from '../config/load.ts'
import type { Config } from '../config/schema.ts'
import { readBuild } from '../lib/build.ts'
import { systemClock } from '../lib/time.ts'
import { EXIT, print, UsageError } from './output.ts'
import type { AdminClient } from './send.ts'
import type { AssertionFlags } from './tour/assertion.ts'
import { commandAt, type GlobalOptions } from './tree.ts'

/** Adds the commands. `exit` takes the exit code of the check. */
export function addFirstSteps(program: Command, env: Env, exit: (code: number) => void): void {
  const within: Within = async (work) => {
    const { withSender } = await import('./send.ts')
    const { config } = loadConfig(program.opts<GlobalOptions>().config, env)
    await withSender({ config, env }, (sender) => work(config, sender))
  }
  addQuickstart(program, within)
  commandAt(program, 'try').description('Runs a flow against the running server.')
  addTryAuthorize(program, within)
  addTryAssertion(program, env)
  addDoctor(program, env, exit)
}

/** Runs work with the configuration and the admin API of the running server. */
type Within = (work: (config: Config, sender: AdminClient) => Promise<void>) => Promise<void>

function addQuickstart(program: Command, within: Within): void {
  program
    .command('quickstart')
    .description(
      'Creates a resource and a client on the running server, requests a token, and prints the commands that do the same.',
    )
    .action(() =>
      within(async (config, sender) => {
        const { quickstart, quickstartText } = await import('./tour/quickstart.ts')
        const toured = await quickstart(config, sender)
        if (program.opts<GlobalOptions>().json) print(toured, true)
        else process.stdout.write(quickstartText(toured))
      }),
    )
}

function addTryAuthorize(program: Command, within: Within): void {
  commandAt(program, 'try authorize')
    .description('Signs a user in with the browser, as a native client does, and shows the token.')
    .option('--resource <slug>', 'Resource that the token is for. Default: the only resource.')
    .option('--scope <names>', 'Scopes to request, separated by spaces. Default: all scopes of the resource.')
    .option('--port <number>', 'Port of the loopback redirect URI. 0 means any free port.', '0')
    .action((flags: { resource?: string; scope?: string; port: string }) =>
      within(async (config, sender) => {
        const port = Number(flags.port)
        if (!Number.isInteger(port) || port < 0 || port > 65_535) throw new UsageError('--port must be 0 to 65535')
        const { tryAuthorize } = await import('./tour/authorize.ts')
        const say = (url: string) => process.stderr.write(`Open this address in a browser:\n${url}\n`)
        print(await tryAuthorize(config, sender, { ...flags, port }, say), program.opts<GlobalOptions>().json)
      }),
    )
}

function addTryAssertion(program: Command, env: Env): void {
  commandAt(program, 'try assertion')
    .description(
      'Creates a client assertion (private_key_jwt) and shows the request that sends it, as a curl command. Sends nothing.',
    )
    .requiredOption('--key <file>', 'Private key of the client, as PEM or JWK; - reads it from standard input.')
    .requiredOption('--client-id <id>', 'Client id of the client.')
    .option('--kid <text>', 'Key id for the header. Default: the kid of the JWK, or none.')
    .option('--alg <name>', 'ES256, RS256, PS256 or EdDSA. Default: the algorithm of the key, RS256 for an RSA key.')
    .option('--issuer <url>', 'Issuer of the server that receives it. Default: server.issuer.')
    .option('--resource <uri>', 'URI of the resource that the token is for.')
    .option('--scope <names>', 'Scopes to request, separated by spaces.')
    .action(async (flags: AssertionFlags) => {
      const { assertionText, tryAssertion } = await import('./tour/assertion.ts')
      const { config } = loadConfig(program.opts<GlobalOptions>().config, env)
      const tried = await tryAssertion(config, flags, systemClock.now())
      if (program.opts<GlobalOptions>().json) print(tried, true)
      else process.stdout.write(assertionText(tried))
    })
}

function addDoctor(program: Command, env: Env, exit: (code: number) => void): void {
  program
    .command('doctor')
    .description(
      'Checks configuration, files, the database and the running server, and suggests corrections. Exits with 1 when a check fails.',
    )
    .option(
      '--running',
      'Fail when no server answers. Without this flag, doctor then fails only if a server has locked the SQLite file.',
    )
    .action(async ({ running = false }: { running?: boolean }) => {
      const findings = await examine(program.opts<GlobalOptions>().config, env, running)
      const { findingsText } = await import('../admin/finding.ts')
      if (program.opts<GlobalOptions>().json) print(findings, true)
      else process.stdout.write(`${findingsText(findings)}\n`)
      exit(findings.some(({ result }) => result === 'fail') ? EXIT.failed : EXIT.ok)
    })
}

async function examine(file: string | undefined, env: Env, running: boolean): Promise<Finding[]> {
  const { fail } = await import('../admin/finding.ts')
  let loaded: LoadedConfig
  try {
    loaded = loadConfig(file, env)
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    const fix = 'see docs/reference/configuration.md'
    return error.problems.map(({ key, message }) => fail('configuration', `${key} ${message}`, fix))
  }
  const { config } = loaded
  const { checkKeys } = await import('./doctor/keys.ts')
  const { checkMachine } = await import('./doctor/machine.ts')
  const { checkProviders } = await import('./doctor/providers.ts')
  const { checkServer } = await import('./doctor/server.ts')
  const { checkStorage } = await import('./doctor/storage.ts')
  const { createFetcher } = await import('../net/fetch.ts')
  // The set-up is on this machine and its network, so private addresses are allowed.
  const fetcher = createFetcher({ allowPrivate: true, userAgent: `service-doctor/${readBuild().version}` })
  const storage = await checkStorage(config)
  const isBroken = storage.some(({ result }) => result === 'fail')
  return [
    ...checkMachine(loaded),
    ...storage,
    ...(await checkKeys(config, !isBroken)),
    ...(await checkProviders(config)),
    ...(await checkServer(config, env, fetcher, running)),
  ]
}
