// For servers that an operator names on the command line, whose certificates another authority signed.
import { rootCertificates } from 'node:tls'
import { Agent, fetch as fetchWith } from 'undici'

/** A fetch that trusts further certificates (PEM) beside the public ones. That of Node takes them only at the start of the process. */
export function trustingFetch(ca: string): typeof fetch {
  const dispatcher = new Agent({ connect: { ca: [...rootCertificates, ca] } })
  return ((url: string, init: object) => fetchWith(url, { ...init, dispatcher })) as unknown as typeof fetch
}
