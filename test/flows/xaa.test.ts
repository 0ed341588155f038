// Identity assertions (ID-JAG) at the token endpoint: what they give, what is refused in which order, and single use.
import { createRemoteJWKSet, jwtVerify } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '../../src/lib/id.ts'
import { newResource } from '../../src/oauth/resource_record.ts'
import { callAdmin, okAdmin } from '../support/admin.ts'
import { type Changes, dpop, type ProofKey, proofKey } from '../support/dpop.ts'
import { type Answer, post } from '../support/flow.ts'
import { tempFolder } from '../support/folder.ts'
import { type IdpKey, idpKey, TestIdp } from '../support/idp.ts'
import { addClient, addResource, addUser, startService, type TestService } from '../support/service.ts'
import { LOOPBACK, mapSubject, redeemAssertion, type Scene, trust, watchReasons, xaaScene } from '../support/xaa.ts'

const EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange'
const SELF_EXCHANGE = { SERVICE_TOKEN_EXCHANGE_ALLOW_SELF_EXCHANGE: 'true' }
const STRICT = { SERVICE_XAA_SUBJECT_MODE: 'strict', SERVICE_XAA_REQUIRE_RESOURCE: 'true' }

let [service, strict]: TestService[] = []
let idp: TestIdp
let other: ProofKey
let reasons: ((answer: Answer) => string | undefined)[]
beforeAll(async () => {
  service = await startService({ ...LOOPBACK, ...SELF_EXCHANGE })
  strict = await startService({ ...LOOPBACK, ...STRICT })
  reasons = [watchReasons(service), watchReasons(strict)]
  idp = await TestIdp.start()
  other = await proofKey()
})
afterAll(() => Promise.all([service?.close(), strict?.close()]))
