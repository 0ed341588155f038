// What agents read about the reasons of refusals: the rows of the table that operators read, for the reasons that are in a result.
import { z } from 'zod'
import { own } from '../admin/answers/own_words.ts'
import { isObject } from '../lib/json.ts'
import { markdownAdviceOf } from '../lib/reasons/index.ts'

/** Schema of what a result says about its reasons. */
export const explainedReasons = z
  .array(
    z.strictObject({
      // A provider may have written a part of it.
      reason: z.string(),
      wrong: own().describe('What is wrong.'),
      fix: own().describe('What to do, and where it is set.'),
      next_tool: own().optional().describe('The tool that shows more, or that corrects it.'),
    }),
  )
  .describe('What the reasons in this result mean.')

type Explained = z.output<typeof explainedReasons>

/** Reasons that are explained in one result. */
const MOST = 8

/** Links of the runbook become the addresses of its resources, other links the paths of the documents. */
const withoutLinks = (text: string): string =>
  text.replace(/\[([^\]]+)\]\(([^)]+)\)/g, (_, words: string, to: string) => {
    const [, section] = /^runbook\.md#([\w-]+)$/.exec(to) ?? []
    if (section) return `${words} (service://runbook/${section})`
    return `${words} (docs/${to.startsWith('../') ? to.slice(3) : `operate/${to}`})`
  })

/** What the table says about the reasons that are in a result. Empty when it knows none of them. */
export function explainReasons(result: object): Explained {
  return [...reasonsIn(result)]
    .flatMap((reason) => {
      const advice = markdownAdviceOf(reason)
      if (!advice) return []
      const { next_tool } = advice
      const [wrong, fix] = [withoutLinks(advice.why), withoutLinks(advice.todo)]
      return [{ reason, wrong, fix, ...(next_tool ? { next_tool } : {}) }]
    })
    .slice(0, MOST)
}

/** The reasons in a value. Steps are in the order of time, and the last one matters most. */
function reasonsIn(value: unknown, found = new Set<string>()): Set<string> {
  if (Array.isArray(value)) for (const each of value) reasonsIn(each, found)
  else if (isObject(value))
    for (const [name, each] of Object.entries(value)) {
      if (name === 'reason' && typeof each === 'string') found.add(each)
      else reasonsIn(name === 'steps' && Array.isArray(each) ? each.toReversed() : each, found)
    }
  return found
}
