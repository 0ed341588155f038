// An instance: a process that serves on one PostgreSQL database with others.

/** The settings that all instances on one database must share, and what each is called. */
export const SHARED_SETTINGS = {
  issuer: 'the issuer (server.issuer)',
  session_secret: 'the session secrets (session.secret, session.secrets)',
  signing: 'the signature algorithm and the store of the signing keys (signing.*)',
  encryption_key: 'the encryption of data (data_encryption)',
  limits: 'the limits on requests (rate_limit.*)',
} as const
export type SharedSetting = keyof typeof SHARED_SETTINGS
export const SHARED_SETTING_NAMES = Object.keys(SHARED_SETTINGS) as readonly SharedSetting[]

/** A text for each of these settings that is the same if the setting is. For a secret it is a slow hash. */
export type Fingerprints = Readonly<Record<SharedSetting, string>>

/** What an instance says about itself in its row of the table `instances`. */
export interface InstanceAbout {
  version: string
  host: string
  /** The address of the public listener. */
  address: string
  /** Epoch seconds. */
  started_at: number
  /** Threads that answer requests. */
  threads: number
  /** Undefined where no other instance can be. */
  fingerprints?: Fingerprints | undefined
}

/** An instance as the database has it. */
export interface Instance extends InstanceAbout {
  /** Epoch milliseconds, of the clock of the database. */
  seen_at: number
}

/** The settings in which some of these instances differ. An older instance may not know all settings: what is absent is not compared. */
export const differingSettings = (all: readonly Partial<Fingerprints>[]): SharedSetting[] =>
  SHARED_SETTING_NAMES.filter(
    (name) => new Set(all.map((each) => each[name]).filter((text) => text !== undefined)).size > 1,
  )
