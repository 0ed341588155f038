// The description of a public endpoint, and what several descriptions share.

export interface Endpoint {
  doc: string
  /** Meanings by name, including the parameters of the path. */
  takes?: Readonly<Record<string, string>>
  /** By status. */
  answers: Readonly<Record<string, string>>
}

export const PAGE = 'The page.'
export const FORM = { csrf_token: 'The value in the page.' } as const
export const NOT_ITS_FORM = 'The form belongs to another session.'
export const TO_LOGIN = 'Redirect to the login page, which returns here.'
