// The flag --federated of the command line: a federated credential on one line.
import type { FlagRule } from '../action.ts'

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
