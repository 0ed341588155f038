// The part of docs/reference/http-api.md about the admin listener: every operation from its declaration.
import { z } from 'zod'
import { type Action, commandOf, neededFor, paramNames } from '../../src/admin/action.ts'
import { adminResources } from '../../src/admin/index.ts'
import { code, table } from './markdown.ts'

interface Property {
  type?: string
  enum?: readonly unknown[]
  anyOf?: readonly Property[]
  items?: Property
  minimum?: number
  maximum?: number
  default?: unknown
  description?: string
  properties?: Readonly<Record<string, Property>>
}

/** A section per resource, a table of fields per operation. */
export const adminSections = (): string[] =>
  adminResources.flatMap((resource) => [
    `### ${resource.name}`,
    resource.doc,
    ...Object.entries(resource.actions).flatMap(([word, action]) => renderAction(commandOf(resource, word), action)),
  ])

function renderAction(command: string | undefined, action: Action): string[] {
  const facts = [
    answerOf(action),
    `Capability: ${code(neededFor(action))}.`,
    action.audit ? `Audit: ${code(action.audit)}.` : '',
    command === undefined ? '' : `Command: ${code(`service admin ${command}`)}.`,
  ]
  const rows = fieldRows(action)
  return [
    `#### ${action.method} ${action.path}`,
    [action.doc, ...facts.filter(Boolean)].join(' '),
    ...(rows.length > 0 ? [table(['Field', 'In', 'Form', 'Default', 'Meaning'], rows)] : []),
  ]
}

/** The status, and the members of the answer. */
function answerOf({ status, answer, lines, dryRun }: Action): string {
  const json = answer ? (z.toJSONSchema(answer, { unrepresentable: 'any' }) as Property) : {}
  const shown = json.items ?? json
  const members = Object.keys(shown.properties ?? {})
    .map(code)
    .join(', ')
  const what = lines ? 'JSON lines' : json.items ? 'a list' : ''
  const content = [what, members].filter(Boolean).join(' with ')
  return `Answers ${status}${content ? `: ${content}` : ''}.${dryRun ? ' A dry run answers 200.' : ''}`
}

type Fields = Pick<Action, 'path' | 'query' | 'body'>

/** The inputs of an operation: name, place, form, default, meaning. */
export function fieldRows(action: Fields): string[][] {
  const row = (place: 'path' | 'query' | 'body', name: string, form: string, fallback = '', doc = '') => [
    code(name),
    place,
    form,
    code(fallback),
    doc,
  ]
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
    ...paramNames(action.path).map((name) => row('path', name, 'string')),
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
