// docs/reference/admin-api.md: every admin operation, as REST call and as command, from its declaration.
import { z } from 'zod'
import { type Action, commandOf, paramNames } from '../../src/admin/action.ts'
import { adminResources } from '../../src/admin/index.ts'
import { flagsOf } from '../../src/cli/flags.ts'
import { code, page, table } from './markdown.ts'

interface Property {
  type?: string
  enum?: readonly unknown[]
  anyOf?: readonly Property[]
  items?: Property
  minimum?: number
  maximum?: number
  default?: unknown
  description?: string
}

const INTRO = `Every call needs \`Authorization: Bearer <admin.api_key>\`. Bodies are JSON; errors are those of [errors.md](errors.md). The commands do the same: they ask the
running server where one answers on \`admin.address\`, and open its database otherwise. Every command takes \`--config FILE\` and \`--json\`; a command that
creates something also reads it as JSON from standard input with \`-\`. What names an audit action leaves an event of that name at \`/admin/audit\`.`

/** A section per resource, a table of fields per operation. */
export const renderAdminApi = (): string =>
  page(
    'Admin API',
    'src/admin/',
    INTRO,
    ...adminResources.flatMap((resource) => [
      `## ${resource.name}`,
      resource.doc,
      ...Object.entries(resource.actions).flatMap(([word, action]) => renderAction(commandOf(resource, word), action)),
    ]),
  )

function renderAction(command: string | undefined, action: Action): string[] {
  const facts = [
    `Answers ${action.status ?? 200}.`,
    action.audit ? `Audit: ${code(action.audit)}.` : '',
    command === undefined ? 'REST only.' : `Command: ${code(`service admin ${command}`)}.`,
  ]
  const rows = fieldsOf(action)
  return [
    `### ${action.method} ${action.path}`,
    [action.doc, ...facts.filter(Boolean)].join(' '),
    ...(rows.length > 0 ? [table(['Field', 'In', 'Form', 'Default', 'Flag', 'Meaning'], rows)] : []),
  ]
}

function fieldsOf(action: Action): string[][] {
  const flags = action.cli === false ? [] : flagsOf(action)
  const row = (part: 'params' | 'query' | 'body', name: string, form: string, fallback = '', doc = '') => {
    const names = flags
      .filter((flag) => flag.part === part && flag.field === name)
      .map((flag) => code(`--${flag.name}`))
    return [code(name), part === 'params' ? 'path' : part, form, code(fallback), names.join(' '), doc]
  }
  const rows = (part: 'query' | 'body', schema: z.ZodType | undefined) => {
    const { properties = {}, required = [] } = schema
      ? z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })
      : {}
    return Object.entries(properties as Record<string, Property>).map(([name, property]) =>
      row(
        part,
        name,
        `${formOf(property)}${required.includes(name) ? ', required' : ''}`,
        defaultOf(property),
        property.description,
      ),
    )
  }
  return [
    ...paramNames(action.path).map((name) => row('params', name, 'string')),
    ...rows('query', action.query),
    ...rows('body', action.body),
  ]
}

function formOf({ type, enum: words, anyOf, items, minimum, maximum }: Property): string {
  if (words) return words.join(' | ')
  if (anyOf) return anyOf.map(formOf).join(' | ')
  if (type === 'array') return `list of ${items ? formOf(items) : 'anything'}`
  if (minimum !== undefined && maximum !== undefined) return `${type} ${minimum} to ${maximum}`
  return type ?? 'string'
}
const defaultOf = ({ default: value }: Property): string =>
  value === undefined ? '' : typeof value === 'string' ? value : JSON.stringify(value)
