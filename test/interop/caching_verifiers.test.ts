// jose's remote key set with its defaults, across rotations: it must accept every token.
import { createRemoteJWKSet, jwtVerify } from 'jose'
import { test } from 'vitest'
import type { TestService } from '../support/service.ts'
import { acrossARotation, jwksOf, STORES, type Verifier } from './caching_verifier.ts'

async function joseVerifier(service: TestService): Promise<Verifier> {
  const keys = createRemoteJWKSet(new URL(jwksOf(service)))
  return (token) =>
    jwtVerify(token, keys, { issuer: service.issuer }).then(
      () => 'ok',
      (error: Error) => error.message,
    )
}

test.each(Object.keys(STORES))(
  'jose with a JWKS that it fetched before a rotation accepts the first token after it, signing.key_store %s',
  (store) => acrossARotation(store, joseVerifier),
)
