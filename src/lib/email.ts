// Email addresses and their domains as they are compared. An internationalised domain has two forms: people write letters, browsers and
// mail programs send A-labels (RFC 5890 §2.3.2.1).

/** What an email address looks like: something, an at sign, something. */
export const EMAIL_ADDRESS = /^[^\s@]+@[^\s@]+$/

const ASCII = /^[\x00-\x7f]*$/
/** No ASCII character but those of host names: a parser of URLs would read a percent sign or a slash as something else. */
const HOST = /^[a-z0-9._\x80-\u{10ffff}-]+$/u

/** A domain in lower case, with A-labels in place of labels beyond ASCII. A text that is no domain stays, in lower case. */
export function asciiDomain(domain: string): string {
  const lower = domain.toLowerCase()
  if (ASCII.test(lower) || !HOST.test(lower) || !URL.canParse(`http://${lower}`)) return lower
  return new URL(`http://${lower}`).hostname
}

/** The domain of an address, or the whole text without an at sign. */
export const domainOf = (email: string): string => email.slice(email.lastIndexOf('@') + 1)

/** An address as it is compared: two spellings of one address become equal. */
export function comparableEmail(email: string): string {
  if (ASCII.test(email)) return email.toLowerCase()
  const domain = domainOf(email)
  return (
    email
      .slice(0, email.length - domain.length)
      .toLowerCase()
      .normalize('NFC') + asciiDomain(domain)
  )
}
