// YAML for the configuration and the setup documents.
import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)
/** Loaded with the first document: a service that is configured by environment variables alone has none. */
const yaml = () => require('yaml') as typeof import('yaml')

/** A problem of a text, with its position: `file:line:column`, or the file. */
export interface YamlFault {
  at: string
  message: string
}

/** Parses the text of a file. Returns its value, undefined for an empty text, or all problems. */
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
    // Refuses an alias of a node that contains it.
    JSON.stringify(value)
    return { value: value ?? undefined }
  } catch (error) {
    return { faults: [{ at: file, message: firstLine(error as Error) }] }
  }
}
/** The message without the position, which is reported separately, and without the excerpt. */
const firstLine = ({ message }: Error) => (message.split('\n')[0] as string).replace(/ at line \d+, column \d+:$/, '')

/** Writes a value as a document in block style. */
export const formatYaml = (value: unknown): string => yaml().stringify(value, { lineWidth: 120 })
