// Commands of the specification that this version does not have yet: they show their help, and say so when they are run.

interface Unbuilt {
  /** Words after `service`. */
  readonly name: string
  readonly doc: string
  readonly flags?: Readonly<Record<string, string>>
}

const id = { '--id <text>': 'Its id.' }
const link = { '--source <slug>': 'The resource in front.', '--target <slug>': 'The resource behind it.' }

export const UNBUILT_COMMANDS: readonly Unbuilt[] = [
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
