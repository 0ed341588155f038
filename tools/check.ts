// The checks of `npm run check` that no other tool makes. Prints every fault, and fails if there is one.
import { readdirSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import { migrationsFolder, packageRoot } from '../src/lib/paths.ts'
import { straysIn } from './commits.ts'
import { languageFaults, titleFaults } from './language.ts'
import { importFaults, importsOf } from './layers.ts'
import { migrationFaults } from './migration_rules.ts'
import { testTitles } from './security/titles.ts'
import { printSizes, type SourceFile, shapeFaults } from './shape.ts'
import { type Lock, type Manifest, supplyFaults } from './supply.ts'

const read = (file: string): string => readFileSync(path.join(packageRoot, file), 'utf8')

/** The files whose names match: those of a list, separated by spaces, and those below the folders in it. */
const filesOf = (list: string, pattern: RegExp): SourceFile[] =>
  list
    .split(' ')
    .flatMap((name) =>
      statSync(path.join(packageRoot, name)).isDirectory()
        ? readdirSync(path.join(packageRoot, name), { recursive: true, encoding: 'utf8' }).map(
            (each) => `${name}/${each.replaceAll(path.sep, '/')}`,
          )
        : [name],
    )
    .filter((file) => pattern.test(file))
    .map((file) => ({ file, text: read(file) }))

function packages(): string[] {
  const { packages: lock } = JSON.parse(read('package-lock.json')) as { packages: Lock }
  return supplyFaults(JSON.parse(read('package.json')) as Manifest, lock, read('docs/dependencies.md'))
}

function commits(): string[] {
  const strays = straysIn(packageRoot)
  if (typeof strays !== 'string')
    return strays.map((commit) => `${commit}: not \`type(scope): what\`, see CONTRIBUTING.md, Commits`)
  console.log(`commit subjects: not checked, because ${strays}`)
  return []
}

const imports = (): string[] =>
  importFaults(
    new Map(
      filesOf('src packages ui workers bench tools', /\.tsx?$/).map(({ file, text }) => [file, importsOf(file, text)]),
    ),
  )

function shape(): string[] {
  const files = filesOf('src packages/resource-server/src ui workers bench tools test', /\.(tsx?|mjs)$/)
  printSizes(files)
  return shapeFaults(files, readdirSync(migrationsFolder).sort())
}

const migrations = (): string[] =>
  migrationFaults(filesOf('migrations', /\.sql$/).map(({ file, text }) => ({ name: path.basename(file), text })))

function language(): string[] {
  // The list of forms itself, measured results, which quote the texts of the build that made them, and the first lines of migrations, which cannot change.
  const exempt = /^(tools\/language\.ts|bench\/results\/.*|docs\/reference\/migrations\.md)$/
  const texts = filesOf(
    'src ui bench workers tools docs deploy examples README.md CONTRIBUTING.md SECURITY.md config.example.yaml',
    /\.(tsx?|mjs|css|html|md|json|ya?ml)$/,
  ).filter(({ file }) => !exempt.test(file))
  return [...languageFaults(texts), ...titleFaults(testTitles())]
}

const faults = [packages, commits, imports, shape, migrations, language].flatMap((check) => check())
for (const fault of faults) console.error(fault)
if (faults.length > 0) process.exitCode = 1
