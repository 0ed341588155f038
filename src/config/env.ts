// The environment variables of the process, as they are passed to what may read them.
export type Env = Readonly<Record<string, string | undefined>>
