// Writes every generated file; `--check` writes nothing and fails when one differs from what would be written.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { packageRoot } from '../src/lib/paths.ts'
import { renderAuditEvents } from './reference/audit_events.ts'
import { renderBenchSchema } from './reference/bench_report.ts'
import { renderCli } from './reference/cli.ts'
import { renderConfiguration, renderExample, renderJsonSchema } from './reference/configuration.ts'
import { renderErrors } from './reference/errors.ts'
import { renderHttpApi } from './reference/http_api.ts'
import { renderMetrics } from './reference/metrics.ts'
import { renderMigrations } from './reference/migrations.ts'
import { renderPublicOpenApi } from './reference/openapi_public.ts'
import { renderPerformancePlot } from './reference/performance_plot.ts'
import { renderProducts } from './reference/products.ts'
import { renderReasons } from './reference/reasons.ts'
import { renderAttacks } from './security/attacks.ts'
import { renderConformance } from './security/conformance.ts'

export const GENERATED: readonly { file: string; render(): string | Promise<string> }[] = [
  { file: 'config.example.yaml', render: renderExample },
  { file: 'docs/reference/config.schema.json', render: renderJsonSchema },
  { file: 'docs/reference/configuration.md', render: renderConfiguration },
  { file: 'docs/images/performance.svg', render: renderPerformancePlot },
  { file: 'docs/reference/audit-events.md', render: renderAuditEvents },
  { file: 'docs/reference/bench-report.schema.json', render: renderBenchSchema },
  { file: 'docs/reference/cli.md', render: renderCli },
  { file: 'docs/reference/errors.md', render: renderErrors },
  { file: 'docs/reference/http-api.md', render: renderHttpApi },
  { file: 'docs/reference/metrics.md', render: renderMetrics },
  { file: 'docs/reference/migrations.md', render: renderMigrations },
  { file: 'docs/reference/openapi-public.json', render: renderPublicOpenApi },
  { file: 'docs/reference/products.md', render: renderProducts },
  { file: 'docs/operate/troubleshooting.md', render: renderReasons },
  { file: 'docs/security/attacks.md', render: renderAttacks },
  { file: 'docs/security/conformance.md', render: renderConformance },
]

/** The generated files under `root` that are missing or out of date, with their correct text. */
export async function drifted(root: string): Promise<{ file: string; text: string }[]> {
  const rendered = await Promise.all(GENERATED.map(async ({ file, render }) => ({ file, text: await render() })))
  return rendered.filter(({ file, text }) => {
    const full = path.join(root, file)
    return !existsSync(full) || readFileSync(full, 'utf8') !== text
  })
}

async function main(): Promise<void> {
  const drift = await drifted(packageRoot)
  if (process.argv.includes('--check')) {
    if (drift.length === 0) return console.log(`${GENERATED.length} generated files are up to date`)
    console.error(`out of date: ${drift.map(({ file }) => file).join(', ')}\nrun: npm run generate`)
    process.exitCode = 1
    return
  }
  for (const { file, text } of drift) {
    mkdirSync(path.dirname(path.join(packageRoot, file)), { recursive: true })
    writeFileSync(path.join(packageRoot, file), text)
    console.log(`wrote ${file}`)
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await main()
