// A transcript of a prompt: what the server says, which tools the agent calls, and the members of each answer that matter.
import type { Client } from '@modelcontextprotocol/client'
import { expect } from 'vitest'
import { callTool } from '../support/agent.ts'

/** Items of a list that are shown. */
const MOST_ITEMS = 6

type Args = Record<string, unknown>

/** Follows a prompt. `replaced` has what differs at each run, and what stands in its place. */
export class Transcript {
  private readonly lines: string[] = []
  private readonly called: string[] = []
  private readonly agent: Client
  private readonly replaced: ReadonlyMap<string, string>
  private prompt = ''

  constructor(agent: Client, replaced: ReadonlyMap<string, string>) {
    this.agent = agent
    this.replaced = replaced
  }

  async begin(name: string, args: Record<string, string>): Promise<void> {
    const { messages, description } = await this.agent.getPrompt({ name, arguments: args })
    const [{ content } = { content: undefined }] = messages
    this.prompt = content?.type === 'text' ? content.text : ''
    this.lines.push(
      `### \`${name}\``,
      `${description ?? ''} The person selects the prompt with ${this.code(args)}, and the agent gets:`.trim(),
      fence('text', this.steady(this.prompt.trim())),
    )
  }

  /** Calls a tool, and shows the members with these names. */
  async call(name: string, args: Args, members: readonly string[]): Promise<Args> {
    this.called.push(name)
    const { answer, isError, text } = await callTool(this.agent, name, args)
    expect(isError, text).toBe(false)
    const shown = JSON.stringify(pick(answer, new Set(members)), undefined, 2)
    this.lines.push(`**\`${name}\`** with ${this.code(args)}:`, fence('json', this.steady(shown)))
    return answer
  }

  /** Reads a resource, and shows its lines with a text. */
  async read(uri: string, having: string): Promise<void> {
    this.called.push(uri)
    const { contents } = await this.agent.readResource({ uri })
    const [{ text } = { text: '' }] = contents as { text: string }[]
    const found = text.split('\n').filter((line) => line.includes(having))
    expect(found.length, `${uri} has nothing of ${having}`).toBeGreaterThan(0)
    this.lines.push(`**${uri}** has about \`${having}\`:`, fence('text', found.join('\n')))
  }

  say(text: string): void {
    this.lines.push(this.steady(text))
  }

  /** The transcript. Fails when the path was not that of the prompt. */
  end(): string {
    const named = [...this.prompt.matchAll(/`(\w+)`|(service:\/\/[\w/]+)/g)].map(([, tool, uri]) => tool ?? uri ?? '')
    expect(this.called.filter((each, i) => this.called.indexOf(each) === i)).toEqual(
      [...new Set(named)].filter((each) => this.called.includes(each)),
    )
    return this.lines.join('\n\n')
  }

  private readonly code = (args: Args): string => `\`${this.steady(JSON.stringify(args))}\``

  private steady(text: string): string {
    return [...this.replaced].reduce((all, [from, to]) => all.replaceAll(from, to), text)
  }
}

const fence = (lang: string, text: string): string => `\`\`\`${lang}\n${text}\n\`\`\``

/** The members with these names, at any depth. */
function pick(value: unknown, names: ReadonlySet<string>): unknown {
  if (Array.isArray(value)) {
    const items = value.slice(0, MOST_ITEMS).map((each) => pick(each, names))
    return value.length > MOST_ITEMS ? [...items, '…'] : items
  }
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => names.has(name))
      .map(([name, each]) => [name, pick(each, names)]),
  )
}
