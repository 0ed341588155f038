// Commands of the specification that this version does not have yet: they show their help, and say so when they are run.

interface Unbuilt {
  /** Words after `service`. */
  readonly name: string
  readonly doc: string
  readonly flags?: Readonly<Record<string, string>>
}

const id = { '--id <text>': 'Its id.' }

export const UNBUILT_COMMANDS: readonly Unbuilt[] = [
  { name: 'admin grant revoke-broker', doc: 'Revokes an upstream grant of a user.', flags: id },
]
