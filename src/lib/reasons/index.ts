// The table of reasons. A refusal names a reason that has a row here; any other does not compile. The page, `try`, explain and
// docs/operate/troubleshooting.md say the same about it.
import { DPOP, EXCHANGE } from './exchange.ts'
import { OTHERS } from './others.ts'
import { BEFORE_SIGN_IN, REGISTRATION } from './requests.ts'
import { AGENTS, BUSY, SIGN_IN } from './service.ts'
import { TOKEN_ENDPOINT } from './tokens.ts'

/**
 * The reasons, separated by spaces; what is wrong, and what to do, both in Markdown; and the tool of operators' agents that shows more or corrects it.
 * `*` stands for any text at the begin or end of a reason.
 */
type Row = readonly [reasons: string, why: string, todo: string, next_tool?: string]

/** By the title of their section. */
export const REASONS = {
  'The client never gets to the sign-in': BEFORE_SIGN_IN,
  'Registration and client documents': REGISTRATION,
  'At the token endpoint': TOKEN_ENDPOINT,
  'Exchange, broker and assertions': EXCHANGE,
  DPoP: DPOP,
  'Sign-in': SIGN_IN,
  'The service is busy or partly unavailable': BUSY,
  'Agents of operators at /mcp': AGENTS,
  'Reasons that the error description explains': OTHERS,
} as const satisfies Record<string, readonly Row[]>

type Named<Text extends string, Found = never> = Text extends `${infer One} ${infer More}`
  ? Named<More, Found | Pattern<One>>
  : Found | Pattern<Text>
type Pattern<Name extends string> = Name extends `*${infer End}`
  ? `${string}${End}`
  : Name extends `${infer Begin}*`
    ? `${Begin}${string}`
    : Name

/** The exact reason of a refusal, for logs, metric labels, operators and tests. */
export type Reason = Named<(typeof REASONS)[keyof typeof REASONS][number][0]>

/** What is wrong, and what to do about it. */
export interface Advice {
  why: string
  todo: string
  next_tool?: string | undefined
}

const BY_NAME = new Map<string, Advice>()
for (const [names, why, todo, next_tool] of Object.values<readonly Row[]>(REASONS).flat())
  for (const name of names.split(' ')) BY_NAME.set(name, { why, todo, next_tool })

/** The advice for a reason, in Markdown. Undefined for a text that is no reason. */
export const markdownAdviceOf = (reason: string): Advice | undefined =>
  BY_NAME.get(reason) ?? BY_NAME.get(reason.replace(/_.*/, '_*')) ?? BY_NAME.get(reason.replace(/.*_/, '*_'))

/** The advice for a reason, without Markdown. Undefined for a text that is no reason. */
export function adviceOf(reason: string): Advice | undefined {
  const advice = markdownAdviceOf(reason)
  return advice && { why: plain(advice.why), todo: plain(advice.todo) }
}

/** The text of a cell without Markdown: names of links and code. */
function plain(text: string): string {
  return text.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').replaceAll('`', '')
}
