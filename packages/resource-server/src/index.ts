// Verifies access tokens of `service` in a resource server.
import type { VerifierOptions } from './options.ts'
import { Verifier } from './verifier.ts'

export type { AuthorizationDetail } from './details.ts'
export type {
  AccessToken,
  ClientCredentials,
  IncomingRequest,
  ResourceMetadata,
  RevocationOptions,
  VerifierOptions,
} from './options.ts'
export { Refusal, type RefusalCode } from './refusal.ts'
export type { Verifier } from './verifier.ts'

/** Creates the verifier of a resource. With `revocations` it subscribes at once. `close` ends the subscription. */
export const createVerifier = (options: VerifierOptions): Verifier => new Verifier(options)
