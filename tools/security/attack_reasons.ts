// Rows of the attack list that no test is named after, and why. A test that appears takes the place of its reason.

const LOGIN = 'Signing in with an upstream OpenID provider is not served yet, so there is nothing to attack.'
const BROKER = 'Connecting users to upstream providers is not served yet, so there is nothing to attack.'

export const ATTACK_REASONS: Readonly<Record<string, string>> = {
  G06: 'Exchanges for tokens of upstream providers are not served yet, so there is nothing to attack.',
  L19: 'There is no second factor, so no code can come before it.',
  M02: LOGIN,
  M03: LOGIN,
  M04: LOGIN,
  M06: BROKER,
  M07: BROKER,
  M08: BROKER,
  M10: BROKER,
  M11: BROKER,
}
