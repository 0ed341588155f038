// PATCH (RFC 7644 §3.5.2): its operations, and how they change a person. Okta sends them without a path, Entra ID with value filters, with
// names of verbs in any case, and with dotted names in an object.
import { isObject } from '../lib/json.ts'
import { type AttributePath, type FilterTerm, parsePath } from './filter.ts'
import { refusal } from './message.ts'
import { canonical, EMAIL_PARTS, NAME_PARTS, type PersonDraft, personMembers, scimBool } from './person.ts'

export interface PatchOperation {
  op: 'add' | 'remove' | 'replace'
  path?: AttributePath
  value?: unknown
}
const MAX_OPERATIONS = 1000

/** The operations of a body. Throws invalidSyntax, invalidPath, noTarget and invalidValue. */
export function readOperations(body: Readonly<Record<string, unknown>>): PatchOperation[] {
  const { Operations: given } = canonical(body, ['schemas', 'Operations'])
  if (!Array.isArray(given) || given.length === 0 || given.length > MAX_OPERATIONS)
    throw refusal('invalidSyntax', `Operations must be a list of 1 to ${MAX_OPERATIONS} operations`)
  return given.map(readOperation)
}

function readOperation(given: unknown): PatchOperation {
  if (!isObject(given)) throw refusal('invalidSyntax', 'an operation must be an object')
  const { op: verb, path: text, value } = canonical(given, ['op', 'path', 'value'])
  const op = typeof verb === 'string' ? verb.toLowerCase() : ''
  if (op !== 'add' && op !== 'remove' && op !== 'replace')
    throw refusal('invalidSyntax', 'op must be add, remove or replace')
  if (text === undefined) {
    if (op === 'remove') throw refusal('noTarget', 'remove needs a path')
    if (!isObject(value)) throw refusal('invalidValue', 'an operation without a path needs an object as value')
    return { op, value }
  }
  const path = typeof text === 'string' ? parsePath(text) : undefined
  if (!path) throw refusal('invalidPath', 'a path is malformed')
  return { op, path, value }
}

const KEPT = ['username', 'externalid', 'displayname', 'name', 'emails', 'active']
const READ_ONLY = ['id', 'meta', 'groups', 'schemas']

/** A person changed by operations. Throws the refusal of the first one that cannot be done. */
export function patchPerson(person: PersonDraft, operations: readonly PatchOperation[]): PersonDraft {
  const draft = structuredClone(person)
  for (const { op, path, value } of operations) {
    if (!path) for (const each of partsOf(value as Record<string, unknown>)) applyOne(draft, op, each.path, each.value)
    else if (READ_ONLY.includes(path.name)) throw refusal('mutability', `${path.name} is read only`)
    else applyOne(draft, op, path, value)
  }
  return draft
}

/** The members of an object as operations of their own: `"name.givenName"` is a path. What is read only, or of another schema, is ignored. */
function partsOf(value: Readonly<Record<string, unknown>>): { path: AttributePath; value: unknown }[] {
  return Object.entries(value).flatMap(([name, part]) => {
    const path = parsePath(name)
    return path && KEPT.includes(path.name) ? [{ path, value: part }] : []
  })
}

function applyOne(draft: PersonDraft, op: PatchOperation['op'], path: AttributePath, value: unknown): void {
  if (!KEPT.includes(path.name)) return
  const [name = ''] = Object.keys(personMembers({ [path.name]: true }))
  if (name === 'emails') draft[name] = patchEmails(draft[name], op, path, value)
  else if (path.where) throw refusal('invalidPath', `${name} is no list`)
  else if (name === 'name') draft[name] = patchName(draft[name], op, path.sub, value)
  else if (path.sub !== undefined) throw refusal('invalidPath', `${name} has no sub-attributes`)
  else if (op === 'remove') remove(draft, name)
  else if (value === undefined) throw refusal('invalidValue', `${name} needs a value`)
  else draft[name] = value
}

function remove(draft: PersonDraft, name: string): void {
  if (name === 'userName') throw refusal('mutability', 'userName is required')
  if (name === 'active') throw refusal('invalidValue', 'active needs a value')
  delete draft[name]
}

function patchName(before: unknown, op: PatchOperation['op'], sub: string | undefined, value: unknown): unknown {
  const known = isObject(before) ? before : {}
  if (sub === undefined) {
    if (op === 'remove') return undefined
    if (!isObject(value)) throw refusal('invalidValue', 'name must be an object of texts')
    // What is named is replaced, the rest stays (RFC 7644 §3.5.2.3).
    return { ...known, ...canonical(value, NAME_PARTS) }
  }
  const part = NAME_PARTS.find((each) => each.toLowerCase() === sub)
  if (part === undefined) return before
  if (op === 'remove') return { ...known, [part]: undefined }
  if (typeof value !== 'string') throw refusal('invalidValue', `name.${part} must be text`)
  return { ...known, [part]: value }
}

type Email = Record<string, unknown>

function patchEmails(
  before: unknown,
  op: PatchOperation['op'],
  path: AttributePath,
  value: unknown,
): Email[] | undefined {
  const emails = (Array.isArray(before) ? before : []) as Email[]
  const { where, sub } = path
  if (!where && sub === undefined) return patchAll(emails, op, value)
  const isHit = (email: Email) => !where || where.every((each) => fits(email, each))
  const part = sub === undefined ? undefined : EMAIL_PARTS.find((each) => each.toLowerCase() === sub)
  if (sub !== undefined && part === undefined) return emails
  if (op === 'remove')
    return part === undefined || part === 'value'
      ? emails.filter((email) => !isHit(email))
      : emails.map((email) => (isHit(email) ? { ...email, [part]: undefined } : email))
  const written = part === undefined ? asEmail(value) : { [part]: value }
  if (part === 'value' && typeof value !== 'string') throw refusal('invalidValue', 'the value of an email must be text')
  const isMain = part === 'primary' && scimBool.safeParse(value).data === true
  if (emails.some(isHit))
    return emails.map((email) =>
      isHit(email) ? { ...email, ...written } : isMain ? { ...email, primary: undefined } : email,
    )
  // The one that the filter describes is added: Entra ID sends this if the person has no email.
  return [...emails, { ...describedBy(where ?? []), ...written }]
}

function patchAll(emails: Email[], op: PatchOperation['op'], value: unknown): Email[] | undefined {
  if (op === 'remove' && value === undefined) return undefined
  const given = (Array.isArray(value) ? value : [value]).map(asEmail)
  const isGiven = (email: Email) => given.some(({ value }) => value === email['value'])
  if (op === 'remove') return emails.filter((email) => !isGiven(email))
  if (op === 'replace') return given
  const isMain = given.some(({ primary }) => primary === true)
  return [
    ...emails.filter((email) => !isGiven(email)).map((email) => (isMain ? { ...email, primary: undefined } : email)),
    ...given,
  ]
}

function asEmail(value: unknown): Email {
  if (!isObject(value)) throw refusal('invalidValue', 'an email must be an object')
  return canonical(value, EMAIL_PARTS)
}

const describedBy = (where: readonly FilterTerm[]): Email =>
  canonical(Object.fromEntries(where.map(({ path, value }) => [path.name, value])), EMAIL_PARTS)

function fits(email: Email, { path, value }: FilterTerm): boolean {
  const held = Object.entries(email).find(([name]) => name.toLowerCase() === path.name)?.[1]
  const same = (each: unknown) => (typeof each === 'string' ? each.toLowerCase() : (each ?? false))
  return same(held) === same(value)
}
