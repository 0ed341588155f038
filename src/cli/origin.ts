// The addresses of the listeners, as seen from this machine.
import { splitAddress } from '../http/front.ts'

/** The origin of a listener. One that listens on every interface is reached over loopback. */
export function originOf(address: string): string {
  const { host, port } = splitAddress(address)
  const reached = host === '' || host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
  return `http://${reached.includes(':') ? `[${reached}]` : reached}:${port}`
}
