// The metadata of other issuers (OpenID Connect Discovery 1.0 §4), of which only the URL of their keys is used.

import { MB } from '../lib/memory.ts'
import type { Clock } from '../lib/time.ts'
import { parseHttpUrl } from '../lib/url.ts'
import { FetchError } from './error.ts'
import type { Fetcher } from './fetcher.ts'
import { fetchJson } from './json.ts'
import { RemoteCache } from './remote_cache.ts'

export interface IssuerMetadataOptions {
  fetcher: Fetcher
  clock: Clock
  /** Seconds after which metadata is fetched again. While that fails, the old metadata is used for the same time once more. */
  ttl: number
  /** Whether metadata may be fetched over plain http, and may name plain http. */
  allowHttp: boolean
}

export type IssuerMetadata = ReturnType<typeof createIssuerMetadata>

const [MAX_ISSUERS, MAX_CACHED] = [200, MB]
const MAX_BYTES = 128 * 1024

/** Makes the cache of the metadata of issuers. */
export function createIssuerMetadata({ fetcher, clock, ttl, allowHttp }: IssuerMetadataOptions) {
  const fetchValue = (issuer: string) => fetchMetadata(fetcher, issuer, allowHttp)
  const known = new RemoteCache({ fetchValue, clock, ttl, max: MAX_ISSUERS, bytes: MAX_CACHED })
  return {
    /** The URL of the keys of an issuer. Rejects with a FetchError, or with 503. Metadata that names another issuer is a bad_document. */
    jwksUri: async (issuer: string): Promise<string> => (await known.get(issuer)).jwks_uri,
  }
}

async function fetchMetadata(fetcher: Fetcher, issuer: string, allowHttp: boolean): Promise<{ jwks_uri: string }> {
  const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`
  const request = { accept: 'application/json', maxBytes: MAX_BYTES, allowHttp }
  const { issuer: named, jwks_uri } = await fetchJson(fetcher, url, request)
  const fault = (detail: string) => new FetchError('bad_document', new URL(url).host, detail)
  // Compared byte by byte (§4.3): otherwise one issuer could publish the keys of another one.
  if (named !== issuer) throw fault('metadata of another issuer')
  if (typeof jwks_uri !== 'string' || !parseHttpUrl(jwks_uri)) throw fault('no jwks_uri')
  return { jwks_uri }
}
