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
