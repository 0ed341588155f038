// Rows of the attack list without a test, and why. When a test is named after a row, its reason is not used any more.

export const ATTACK_REASONS: Readonly<Record<string, string>> = {
  L19: 'There is no second factor, so no code can come before it.',
}
