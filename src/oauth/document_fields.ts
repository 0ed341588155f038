// The members of a client that its metadata document decides about.

/** What a client metadata document says about its client. */
export interface DocumentFields {
  client_name: string
  redirect_uris: string[]
  grant_types: string[]
  application_type: 'web' | 'native'
  scope: string
}
