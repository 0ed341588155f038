// The flags of a client whose values have a form of their own.
import type { FlagRule } from '../action.ts'

export const clientScopesFlag: FlagRule = {
  field: 'scope',
  doc: 'A scope that the client may request. May be repeated.',
  value: 'name',
  read: (values) => values.join(' '),
}

export const jwksFlag: FlagRule = {
  field: 'jwks',
  doc: 'File with the public keys of the client as a JWK set. - reads standard input.',
  value: 'file',
  json: true,
}

export const defaultResourceFlag: FlagRule = {
  field: 'default_resource',
  doc: 'URI of the registered resource for client_credentials requests that name no resource. Empty: none.',
  value: 'uri',
}

export const documentFlag: FlagRule = {
  field: 'document',
  doc: 'File with the metadata document, for a client_id that is a URL. The service keeps it and never fetches it. - reads standard input.',
  value: 'file',
  json: true,
}

/**
 * The commas before the name of a member. Other commas belong to a value. The name may be unknown: a misspelled member must be refused, and
 * not become a part of the subject.
 */
const COMMA = /,(?=(?:[a-z_]+|claim\.[^,=]+)=)/
const CLAIM = 'claim.'

/** A credential such as `issuer=…,subject=…,claim.ref=…`. */
function credentialOf(text: string): Record<string, unknown> {
  const members = text.split(COMMA).map((member) => member.split(/=(.*)/s))
  const others = members.filter(([name = '']) => !name.startsWith(CLAIM))
  const claims = members.filter(([name = '']) => name.startsWith(CLAIM))
  const named = claims.map(([name = '', value]) => [name.slice(CLAIM.length), value])
  return {
    ...Object.fromEntries(others.map(([name, value]) => [name, value])),
    ...(named.length > 0 ? { claims: Object.fromEntries(named) } : {}),
  }
}

export const federatedFlag: FlagRule = {
  field: 'federated_credentials',
  doc: 'A workload identity with which the client authenticates: issuer=URL,subject=SUB[,audience=AUD][,jwks_uri=URL][,claim.NAME=VALUE]. May be repeated.',
  value: 'issuer=…,subject=…',
  read: (values) => values.map(credentialOf),
}
