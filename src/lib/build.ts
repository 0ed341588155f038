// The version of this build from package.json, and the commit and time that the build wrote beside the compiled files.
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { packageRoot } from './paths.ts'

export interface Build {
  version: string
  /** Abbreviated commit, or `unknown` outside a git checkout. */
  commit: string
  /** RFC 3339, or `unknown`. */
  built_at: string
}

/** The User-Agent of outgoing requests. */
export const userAgent = (): string => `service/${readBuild().version}`

/** Reads package.json and dist/build.json. */
export function readBuild(): Build {
  const read = (file: string): Record<string, string> => {
    const full = path.join(packageRoot, file)
    return existsSync(full) ? (JSON.parse(readFileSync(full, 'utf8')) as Record<string, string>) : {}
  }
  const { version = 'unknown' } = read('package.json')
  const { commit = 'unknown', built_at = 'unknown' } = read('dist/build.json')
  return { version, commit, built_at }
}
