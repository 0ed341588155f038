// The environment variables of the process, and secrets that files contain.
import { readFileSync } from 'node:fs'

export type Env = Readonly<Record<string, string | undefined>>

/** The variable NAME_FILE of a secret variable NAME. */
export const fileVariable = (name: string): string => `${name}_FILE`

/**
 * The value of a secret variable: that of NAME, or the text of the file that NAME_FILE names, without the newline at its end. Undefined
 * when neither is set. An empty variable counts as unset. Throws SecretFileError when both are set or the file cannot be read.
 */
export function secretVariable(env: Env, name: string): string | undefined {
  const file = env[fileVariable(name)]
  const value = env[name] || undefined
  if (!file) return value
  if (value) throw new SecretFileError(name, `is set, and so is ${name}: remove one of them`)
  try {
    return readFileSync(file, 'utf8').replace(/\r?\n$/, '') || undefined
  } catch (error) {
    throw new SecretFileError(name, `names a file that cannot be read: ${(error as Error).message}`)
  }
}

/** The file of a secret variable cannot be used. */
export class SecretFileError extends Error {
  readonly variable: string
  readonly problem: string
  constructor(name: string, problem: string) {
    super(`${fileVariable(name)} ${problem}`)
    this.variable = fileVariable(name)
    this.problem = problem
  }
}
