// Commands of the specification that this version does not have yet: they show their help, and say so when they are run.

interface Unbuilt {
  /** Words after `service`. */
  readonly name: string
  readonly doc: string
  readonly flags?: Readonly<Record<string, string>>
}

const provider = {
  '--slug <text>': 'Public name.',
  '--protocol <oauth|apikey|service_account>': 'How upstream tokens are had.',
  '--display-name <text>': 'What users see.',
  '--config-data <file>': 'JSON file with what the protocol needs.',
}
const id = { '--id <text>': 'Its id.' }
const link = { '--source <slug>': 'The resource in front.', '--target <slug>': 'The resource behind it.' }

export const UNBUILT_COMMANDS: readonly Unbuilt[] = [
  { name: 'admin provider', doc: 'Broker providers.' },
  { name: 'admin provider list', doc: 'Lists broker providers.' },
  { name: 'admin provider get', doc: 'Shows a broker provider.', flags: id },
  { name: 'admin provider create', doc: 'Creates a broker provider.', flags: provider },
  { name: 'admin provider update', doc: 'Changes a broker provider.', flags: { ...id, ...provider } },
  { name: 'admin provider delete', doc: 'Deletes a broker provider.', flags: id },
  { name: 'admin grant revoke-broker', doc: 'Revokes an upstream grant of a user.', flags: id },
  { name: 'admin fronting', doc: 'Resources in front of others.' },
  { name: 'admin fronting list', doc: 'Lists fronting links.' },
  {
    name: 'admin fronting create',
    doc: 'Creates a fronting link.',
    flags: { ...link, '--scope-map <a:b,c:d>': 'Scopes of the source and what they are at the target.' },
  },
  { name: 'admin fronting delete', doc: 'Deletes a fronting link.', flags: link },
]
