// YAML, as the configuration and the set-up documents are written in.
import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)
/** With the first document: a service that is configured by variables alone has none. */
const yaml = () => require('yaml') as typeof import('yaml')

/** A fault of a text, with its place: `file:line:column`, or the file. */
export interface YamlFault {
  at: string
  message: string
}

/** Reads a text that came from `file`. Returns its value, undefined for an empty text, or everything that is wrong with it. */
export function parseYaml(text: string, file: string): { value: unknown } | { faults: YamlFault[] } {
  const document = yaml().parseDocument(text)
  if (document.errors.length > 0)
    return {
      faults: document.errors.map((error) => ({
        at: `${file}:${error.linePos?.[0].line ?? 1}:${error.linePos?.[0].col ?? 1}`,
        message: firstLine(error),
      })),
    }
  try {
    const value: unknown = document.toJS({ maxAliasCount: 100 })
    // Refuses an alias of what it is inside of.
    JSON.stringify(value)
    return { value: value ?? undefined }
  } catch (error) {
    return { faults: [{ at: file, message: firstLine(error as Error) }] }
  }
}
/** Without the place, which is said already, and the excerpt behind it. */
const firstLine = ({ message }: Error) => (message.split('\n')[0] as string).replace(/ at line \d+, column \d+:$/, '')

/** Writes a value as a document of block style. */
export const formatYaml = (value: unknown): string => yaml().stringify(value, { lineWidth: 120 })
