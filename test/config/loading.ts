// Loads configurations as the service does: an object as the YAML file, and an environment.

import type { Env } from '../../src/config/env.ts'
import { ConfigError, type ConfigProblem, type LoadedConfig, loadConfig } from '../../src/config/load.ts'
import { tempFile } from '../support/folder.ts'

/** The minimum configuration of a deployment with a public issuer. */
export const PRODUCTION = {
  server: { issuer: 'https://auth.example.com' },
  session: { secret: 'k3yXw9-0123456789abcdef-ABCDEFGH', secure: true },
  admin: { api_key: 'k3yXw9-0123456789' },
} as const

/** Writes a configuration file; JSON is valid YAML. */
export const yamlFile = (content: string | object): string => tempFile('service.yaml', content)

/** Loads a file with this content, or no file, and an environment. */
export const load = (content?: string | object, env: Env = {}): LoadedConfig =>
  loadConfig(content === undefined ? undefined : yamlFile(content), env)

/** The problems of a configuration; empty when it loads. */
export function problemsOf(content?: string | object, env: Env = {}): readonly ConfigProblem[] {
  try {
    load(content, env)
    return []
  } catch (error) {
    if (error instanceof ConfigError) return error.problems
    throw error
  }
}

type Tree = { readonly [name: string]: unknown }
const isTree = (value: unknown): value is Tree => typeof value === 'object' && value !== null && !Array.isArray(value)

/** Merges one configuration into another. */
export function over(base: Tree, more: Tree): Tree {
  const all: Record<string, unknown> = { ...base }
  for (const [name, value] of Object.entries(more)) {
    const below = all[name]
    all[name] = isTree(value) && isTree(below) ? over(below, value) : value
  }
  return all
}
