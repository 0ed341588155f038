// Rows of the attack list that no test is named after, and why. A test that appears takes the place of its reason.

export const ATTACK_REASONS: Readonly<Record<string, string>> = {
  L19: 'There is no second factor, so no code can come before it.',
}
