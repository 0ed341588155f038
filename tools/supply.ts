// What we take from others: exact versions, hashes in the lockfile, licences that we may ship, install scripts that are
// decided on, and a reason for each package.

type Versions = Record<string, string>
export interface Manifest {
  dependencies: Versions
  optionalDependencies: Versions
  devDependencies: Versions
  allowScripts: Record<string, boolean>
}
interface Locked {
  integrity?: string
  license?: string
  dev?: boolean
  optional?: boolean
  hasInstallScript?: boolean
}
export type Lock = Record<string, Locked>

/** Licences of packages that a server runs: permissive, all of them. */
const SHIPPED = new Set([
  '0BSD',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'BlueOak-1.0.0',
  'ISC',
  'MIT',
  '(MIT OR Apache-2.0)',
  'MIT OR Apache-2.0',
  '(MIT OR WTFPL)',
  '(BSD-2-Clause OR MIT OR Apache-2.0)',
])
/** Further ones of tools that are not shipped. */
const TOOLS = new Set(['MPL-2.0', '(MIT AND Zlib)'])
const EXACT = /^(npm:(@[\w.-]+\/)?[\w.-]+@)?\d+\.\d+\.\d+(-[\w.]+)?$/

/** Every fault, as human-readable lines. `reasons` is docs/dependencies.md. */
export function supplyFaults(manifest: Manifest, lock: Lock, reasons: string): string[] {
  const { dependencies, optionalDependencies, devDependencies, allowScripts } = manifest
  const direct = Object.entries({ ...dependencies, ...optionalDependencies, ...devDependencies })
  const locked = Object.entries(lock).filter(([at]) => at !== '')
  return [
    ...direct
      .filter(([, version]) => !EXACT.test(version))
      .map(([name, version]) => `${name}: ${version} is not exact`),
    ...direct
      .filter(([name]) => !reasons.includes(`\`${name}\``))
      .map(([name]) => `${name}: no reason in docs/dependencies.md`),
    ...locked.flatMap(([at, entry]) => lockFaults(at.replace(/^.*node_modules\//, ''), entry, allowScripts)),
  ]
}

function lockFaults(name: string, entry: Locked, allowScripts: Record<string, boolean>): string[] {
  // Builds of tools for platforms whose registry the lockfile was not made at: npm asks for the hash when it installs one.
  const isForeign = entry.dev && entry.optional && !entry.integrity
  const faults: string[] = []
  if (!isForeign && !entry.integrity?.startsWith('sha512-')) faults.push(`${name}: no SHA-512 in package-lock.json`)
  const { license = 'none' } = entry
  if (!isForeign && !SHIPPED.has(license) && !(entry.dev && TOOLS.has(license)))
    faults.push(`${name}: licence ${license} is not on the list`)
  if (entry.hasInstallScript && allowScripts[name] === undefined && !(entry.dev && entry.optional))
    faults.push(`${name}: has an install script, and allowScripts does not decide on it`)
  return faults
}
