// The values of grant_type that this service knows.

/** A grant_type on the wire. The pages of the admin page have a text for each. */
export type GrantType =
  | 'authorization_code'
  | 'refresh_token'
  | 'client_credentials'
  | 'urn:ietf:params:oauth:grant-type:token-exchange'
  | 'urn:ietf:params:oauth:grant-type:jwt-bearer'
  | 'urn:ietf:params:oauth:grant-type:device_code'
  | 'urn:openid:params:grant-type:ciba'
