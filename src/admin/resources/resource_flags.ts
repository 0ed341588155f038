// The flags of a resource whose values have a form of their own: scopes, and who may use it.
import { commaParts } from '../../lib/csv.ts'
import type { FlagRule } from '../action.ts'
import { invalid } from '../outcome.ts'

/** `name|upstream|description`, whose missing parts are empty, or a scope as JSON. Throws invalid_request for `read:Read`. */
const scopeTuple = (text: string) => {
  if (text.startsWith('{')) return asJson(text)
  const [, named, described] = /^([a-z\d._-]+):([A-Z][^|]*)$/.exec(text) ?? []
  if (named)
    throw invalid(
      `--scopes ${text} looks like a description after a colon: write '${named}||${described}', or '${text}||' for a scope with this name`,
      'description_after_colon',
    )
  const [name = '', upstream = '', ...description] = text.split('|')
  return { name, upstream, description: description.join('|') }
}
/** A JSON value. Malformed JSON stays text, and is refused as the value of a member. */
export function asJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
const scopesFlag: FlagRule = {
  field: 'scopes',
  doc: 'A scope, also as JSON: {"name":"write","groups":["editors"],"descriptions":{"de":"Notizen schreiben"}}. May be repeated. upstream is for broker resources.',
  value: 'name|upstream|description',
  read: (values) => values.map(scopeTuple),
}
const scopeMapFlag: FlagRule = {
  field: 'scopes',
  doc: 'Scopes as name:upstream pairs: read:repo,write:repo_write.',
  value: 'a:b,c:d',
  read: (values) =>
    values
      .flatMap((value) => value.split(','))
      .map((pair) => {
        const [name = '', ...upstream] = pair.split(':')
        return { name, upstream: upstream.join(':') }
      }),
}

/** The prefixes of the lists of `access`. */
const ACCESS_LISTS: Readonly<Record<string, string>> = { groups: 'groups', users: 'users', domains: 'email_domains' }

const SECOND_FACTOR = 'second-factor'

const accessFlag: FlagRule = {
  field: 'access',
  doc: 'Who may use it: everyone, or the users on one of these lists. May be repeated. With restricted alone no user may use it.',
  value: 'everyone|restricted|groups:a,b|users:id,id|domains:a,b|second-factor',
  read(values) {
    const lists = values
      .filter((value) => value.includes(':'))
      .map((value) => {
        const [kind = '', ...rest] = value.split(':')
        return [ACCESS_LISTS[kind] ?? kind, commaParts(rest.join(':'))]
      })
    const [mode = 'restricted'] = values.filter((value) => !value.includes(':') && value !== SECOND_FACTOR)
    const second_factor = values.includes(SECOND_FACTOR) ? { second_factor: true } : {}
    return { mode, ...Object.fromEntries(lists), ...second_factor }
  },
}

/** A flag whose values are the elements of a list, each as JSON. */
export const jsonListFlag = (field: string, doc: string): FlagRule => ({
  field,
  doc: `${doc}, as JSON. May be repeated.`,
  value: 'json',
  read: (values) => values.map(asJson),
})

export const providerFlag = { 'broker-provider': { field: 'broker_provider_slug' } } as const

/** The flags that set the members of a resource. */
export const resourceFlags = {
  ...providerFlag,
  scopes: scopesFlag,
  'scope-map': scopeMapFlag,
  access: accessFlag,
  'details-type': jsonListFlag('authorization_details_types', 'A type of authorization details'),
}
