// The addresses of the listeners, as seen from this machine.
import type { Config } from '../config/schema.ts'
import { splitAddress } from '../http/listener.ts'
import { isLocalhost } from '../lib/url.ts'

/** The origin of a listener. One that listens on every interface is reached over loopback. */
export function originOf(address: string): string {
  const { host, port } = splitAddress(address)
  const reached = host === '' || host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
  return `http://${reached.includes(':') ? `[${reached}]` : reached}:${port}`
}

/** The base URL for printed commands: the issuer. An issuer on localhost has no proxy, so the port is that of the listener. */
export function baseUrlOf({ server: { issuer, address } }: Pick<Config, 'server'>): string {
  const { protocol, port } = new URL(issuer)
  const isListener = (port || '80') === splitAddress(address).port.toString()
  return isLocalhost(issuer) && protocol === 'http:' && !isListener ? originOf(address) : issuer
}
