// When the certificates end of the servers to which this process has connected.

/** Host names have at most 255 bytes, so this needs less than 1 MB. */
const MAX_HOSTS = 1000

/** By host and port, as a URL has them. */
export class PeerCertificates {
  private readonly ends = new Map<string, number>()

  /** Notes the end of a certificate in epoch seconds. The oldest note gives way to a new one. */
  note(host: string, end: number): void {
    this.ends.delete(host)
    this.ends.set(host, end)
    for (const oldest of this.ends.keys()) {
      if (this.ends.size <= MAX_HOSTS) break
      this.ends.delete(oldest)
    }
  }

  /** Takes what another thread has noted. */
  take(noted: Readonly<Record<string, number>>): void {
    for (const [host, end] of Object.entries(noted)) this.note(host, end)
  }

  /** The end of the certificate of a host. Undefined if there was no TLS connection to it. */
  endOf(host: string): number | undefined {
    return this.ends.get(host)
  }

  all(): Record<string, number> {
    return Object.fromEntries(this.ends)
  }
}
