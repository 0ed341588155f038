// What explain asks of each grant before its rules.
import { authorizationCode } from '../../grants/authorization_code.ts'
import { ciba } from '../../grants/ciba.ts'
import { clientCredentials } from '../../grants/client_credentials.ts'
import { deviceCode } from '../../grants/device_code.ts'
import { jwtBearer } from '../../grants/jwt_bearer.ts'
import { refreshToken } from '../../grants/refresh_token.ts'
import { tokenExchange } from '../../grants/token_exchange.ts'
import { accessRules } from '../../oauth/tokens/common_rules.ts'
import { ELSEWHERE, IN_BROWSER } from '../../oauth/tokens/request_rules.ts'
import type { GrantRule } from '../../oauth/tokens/rule.ts'
import { SUBJECT_TOKEN } from './exchange.ts'
import type { Scene } from './rules.ts'
import { ASSERTED_USER, CLIENT, CODE, CONFIDENTIAL, DETAILS, REFRESH_TOKEN, REGISTERED, USER } from './steps.ts'

interface ExplainedGrant {
  /** Asked before the rules of the grant. They say what a code, token or assertion would contain. */
  readonly before: readonly GrantRule<Scene>[]
  /** Whether the token is for a user. */
  readonly user: boolean
  /** Whether it can issue an ID token. A sign-in needs no resource. */
  readonly signIn: boolean
}

const ANY = [...CLIENT, REGISTERED]
const MACHINE = [...CLIENT, CONFIDENTIAL, REGISTERED]
const [RESOURCE] = IN_BROWSER as [GrantRule<Scene>]
/** The rules of the request to the person, which are asked before there is a code. */
const asked = (rules: readonly GrantRule<Scene>[]) => [...rules, DETAILS, USER, ...accessRules('access_denied'), CODE]
const BY_PERSON = { user: true, signIn: true }

/** By grant_type. */
export const EXPLAINED_GRANTS: ReadonlyMap<string, ExplainedGrant> = new Map([
  [authorizationCode.type, { before: [...ANY, ...asked(IN_BROWSER)], ...BY_PERSON }],
  [deviceCode.type, { before: [...ANY, ...asked(ELSEWHERE)], ...BY_PERSON }],
  [ciba.type, { before: [...MACHINE, ...asked(ELSEWHERE)], ...BY_PERSON }],
  [refreshToken.type, { before: [...ANY, USER, RESOURCE, DETAILS, REFRESH_TOKEN], ...BY_PERSON }],
  [clientCredentials.type, { before: MACHINE, user: false, signIn: false }],
  [tokenExchange.type, { before: [...MACHINE, USER, SUBJECT_TOKEN, DETAILS], user: true, signIn: false }],
  [jwtBearer.type, { before: [...MACHINE, ASSERTED_USER], user: true, signIn: false }],
])
