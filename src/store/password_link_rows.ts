// Rows of password links.
import { change } from './op.ts'

/** Deletes the unused password link of a user: it was made for the password, or for the account, as it was before. */
export const deletePasswordLinks = (user_id: string) => change('DELETE FROM password_links WHERE user_id = ?', user_id)
