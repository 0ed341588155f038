// Rules that the linter does not check: size, numbers of the migrations, forbidden code, exports without documentation, duplicate names.
import path from 'node:path'

export interface SourceFile {
  /** Relative to the project, with slashes. */
  file: string
  text: string
}

const MAX_LINES = 300
/** More files than this in a folder hide a subject that deserves a folder of its own. */
const MAX_FILES = 30

// Each pattern is written so that it does not match itself.
const FORBIDDEN: readonly { what: string; pattern: RegExp; within: RegExp; except?: RegExp }[] = [
  { what: 'an open end', pattern: /\b(T[O]DO|F[I]XME)\b/, within: /./ },
  { what: 'a type switched off', pattern: /(:|\bas|<) *[a]ny\b(?! \w)|@ts-[ien]|biome-[i]gnore/, within: /./ },
  { what: 'a test switched off', pattern: /\b(test|it|describe)\.(s[k]ip|o[n]ly|t[o]do)\b/, within: /./ },
  { what: 'console', pattern: /\bconsole\.\w/, within: /^(src|workers)\//, except: /^src\/cli\// },
  { what: 'process.exit()', pattern: /\bprocess\.exit\(/, within: /^(src\/(?!main\.ts)|workers\/)/ },
  {
    what: 'process.env',
    pattern: /\bprocess\.env\b/,
    within: /^(src|workers)\//,
    // The native engine reads its limit from a variable only; libpq has variables of its own.
    except: /^src\/(main|config\/load|http\/uws|store\/postgres\/connection)\.ts$/,
  },
  {
    // A later version adds columns, and PostgreSQL then refuses a prepared statement whose columns change (0A000).
    what: 'a query without the names of its columns',
    pattern: /SELECT \* FROM \w+[ '`]|RETURNING \*/,
    within: /^src\/store\//,
    except: /^src\/store\/postgres\/partitions\.ts$/,
  },
  {
    // One way to be private. A class of a library may have members of the same name, which only `#` keeps apart.
    what: 'a member with #: write private',
    pattern: /^ {2}(readonly |async |static )*#\w/,
    within: /^(src|workers|ui)\//,
    except: /^src\/store\/postgres\/connection\.ts$/,
  },
  {
    // V8 makes a new hidden class each time, and all code that reads the object stays slow: 12 us of each signature (docs/performance.md).
    what: 'an object that begins with a spread and has further members',
    pattern: /\{ \.\.\.[\w.]+(\([^{}]*\))?, \w/,
    within:
      /^(src\/grants\/|src\/crypto\/(batch|signing_work)\.|src\/oauth\/tokens\/(issue|commit)\.|src\/store\/sqlite\.|workers\/)/,
  },
  {
    what: 'a literal that is spread into another one: write its members on lines of their own',
    pattern: /^\s*\.\.\.\{ /m,
    within: /^(src|ui|workers|bench|packages)\//,
  },
  {
    what: 'an outgoing request',
    pattern: /(?<!\b(f|brokerF)etcher\.)\bfetch\(/,
    within: /^(src|workers)\//,
    except: /^src\/(net|cli)\//,
  },
]

/** Every fault of these files, as human-readable lines. */
export function shapeFaults(files: readonly SourceFile[], migrations: readonly string[]): string[] {
  return [
    ...files.flatMap((each) => [...sizeFault(each), ...forbidden(each), ...undocumented(each)]),
    ...crowded(files),
    ...duplicates(files),
    ...misnumbered(migrations),
  ]
}

const linesOf = (text: string): string[] => text.replace(/\n$/, '').split('\n')

function sizeFault({ file, text }: SourceFile): string[] {
  const lines = linesOf(text).length
  return /^(src|packages|ui|bench|workers)\//.test(file) && lines > MAX_LINES
    ? [`${file}: ${lines} lines; ${MAX_LINES} is the limit: split it by subject`]
    : []
}

const forbidden = ({ file, text }: SourceFile): string[] =>
  linesOf(text).flatMap((line, i) =>
    FORBIDDEN.filter(
      ({ pattern, within, except }) => within.test(file) && !except?.test(file) && pattern.test(line),
    ).map(({ what }) => `${file}:${i + 1}: ${what} is not allowed here: ${line.trim()}`),
  )

/** Exported functions and classes of src need a comment directly above them. */
function undocumented({ file, text }: SourceFile): string[] {
  const lines = linesOf(text)
  return lines.flatMap((line, i) => {
    const name = /^export (?:default )?(?:async )?(?:function\*?|class) (\w+)/.exec(line)?.[1]
    const isDocumented = /\*\/$/.test(lines[i - 1] ?? '')
    return name && /^(src|packages|ui|bench)\//.test(file) && !isDocumented
      ? [`${file}:${i + 1}: ${name} has no doc comment`]
      : []
  })
}

/** Folders of the product with too many files. */
function crowded(files: readonly SourceFile[]): string[] {
  const counts = new Map<string, number>()
  for (const { file } of files) {
    const folder = path.posix.dirname(file)
    if (/^(src|packages|ui|workers)\b/.test(folder)) counts.set(folder, (counts.get(folder) ?? 0) + 1)
  }
  return [...counts]
    .filter(([, count]) => count > MAX_FILES)
    .map(([folder, count]) => `${folder}: ${count} files; ${MAX_FILES} is the limit: group them by subject`)
}

const EXPORT = /^export (?:async )?(?:abstract )?(?:function\*?|class|const|interface|type|let) (\w+)/gm

/** A name that is exported twice leads a search to the wrong file. Default exports are named by their file. */
function duplicates(files: readonly SourceFile[]): string[] {
  const owners = new Map<string, string>()
  const exported = files
    .filter(({ file }) => /^(src|ui|bench)\//.test(file))
    .flatMap(({ file, text }) => [...text.matchAll(EXPORT)].map(([, name = '']) => ({ file, name })))
  return exported.flatMap(({ file, name }) => {
    const owner = owners.get(name)
    owners.set(name, owner ?? file)
    return owner === undefined || owner === file
      ? []
      : [`${file}: ${name} is also exported by ${owner}: rename one of them`]
  })
}

/** Migrations are NNN_name.sql; a number may be missing while several are written at the same time, but each number is used once. */
const misnumbered = (migrations: readonly string[]): string[] =>
  migrations.flatMap((name, i) => {
    const number = /^\d{3}_/.exec(name)?.[0]
    const isTwice = number !== undefined && migrations[i + 1]?.startsWith(number)
    return number === undefined || isTwice ? [`migrations/${name}: NNN_name.sql, each number once`] : []
  })

const folderOf = ({ file }: SourceFile): string => path.posix.dirname(file).split('/').slice(0, 3).join('/')

/** Prints the files and the lines of each folder, so that growth is visible. */
export function printSizes(files: readonly SourceFile[]): void {
  for (const folder of [...new Set(files.map(folderOf))].sort()) {
    const sizes = files.filter((each) => folderOf(each) === folder).map(({ text }) => linesOf(text).length)
    const total = sizes.reduce((sum, lines) => sum + lines, 0)
    const [count, sum] = [String(sizes.length).padStart(3), String(total).padStart(6)]
    console.log(`${folder.padEnd(16)} ${count} files ${sum} lines, longest ${Math.max(...sizes)}`)
  }
}
