// Small pieces of text: names, times, badges, headings, things to copy, empty states.
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { ApiError } from '../lib/api.ts'
import { ago, plain } from '../lib/format.ts'
import { fullTime } from '../lib/zone.ts'
import { CopyIcon, DoneIcon } from './icons.tsx'

type Children = { children?: ComponentChildren }

/** A name that a client or user chose, isolated for bidirectional text. */
export const Name = ({ of, or = 'no name' }: { of: string | undefined; or?: string }) =>
  of ? <bdi>{plain(of)}</bdi> : <span class="soft">{or}</span>

/** A text in a monospaced font. */
export const Mono = ({ of, or = 'none' }: { of: string | undefined; or?: string }) =>
  of ? <code>{of}</code> : <span class="soft">{or}</span>

/** How long ago; the full time on hover. */
export const Time = ({ at, or = 'never' }: { at: string | undefined; or?: string }) =>
  at ? (
    <time dateTime={at} title={fullTime(at)}>
      {ago(at)}
    </time>
  ) : (
    <span class="soft">{or}</span>
  )

interface MainProps {
  /** The address of its page. */
  to?: string
  name: ComponentChildren
  /** The line below. */
  below?: ComponentChildren
}
/** The first cell of a row: its name, with what stands beside it. */
export const Main = ({ to, name, below, children }: Children & MainProps) => (
  <>
    {to === undefined ? (
      <b>{name}</b>
    ) : (
      <a class="main" href={to}>
        {name}
      </a>
    )}{' '}
    {children}
    {below && <small>{below}</small>}
  </>
)

export type Tone = 'good' | 'warn' | 'bad' | 'accent' | ''
/** A word in a box. */
export const Badge = ({ tone = '', children }: Children & { tone?: Tone }) => (
  <span class={`badge ${tone}`}>{children}</span>
)

/** The head of a page. `from` is the link back to the list. */
export const PageHead = ({
  title,
  from,
  about,
  children,
}: Children & { title: ComponentChildren; from?: Way; about?: ComponentChildren }) => (
  <div class="page-head">
    <div>
      {from && (
        <a class="crumb" href={from[1]}>
          {from[0]}
        </a>
      )}
      <h1>{title}</h1>
      {about && <p>{about}</p>}
    </div>
    <div class="actions">{children}</div>
  </div>
)

/** A part of a page with a heading. */
export const Card = ({ title, aside, children }: Children & { title?: string; aside?: ComponentChildren }) => (
  <section class="card">
    {title && (
      <header>
        <h2>{title}</h2>
        {aside}
      </header>
    )}
    {children}
  </section>
)

/** The text of an empty list: what it will contain, and how to add it. */
export const Empty = ({ title, children }: Children & { title: string }) => (
  <div class="empty">
    <h2>{title}</h2>
    {children}
  </div>
)

/** An error with the message of the server. */
export const ProblemNote = ({ error }: { error: Error | undefined }) =>
  error ? (
    <p class="note bad" role="alert">
      {sentence(error.message)}
      {(error as ApiError).requestId && <span class="small"> (request {(error as ApiError).requestId})</span>}
    </p>
  ) : null
/** What an operator should correct in a record that was accepted. */
export const Caution = ({ of }: { of: string | undefined }) =>
  of ? (
    <p class="note warn" role="status">
      {sentence(of)}
    </p>
  ) : null

/** A refusal as a sentence; names of fields keep their case. */
export const sentence = (text: string) => `${text.replace(/^[a-z](?=[a-z]* )/, (first) => first.toUpperCase())}.`

/** An item of a list of concerns. */
export const DotItem = ({ tone, children }: Children & { tone: string }) => (
  <li>
    <span class={`dot ${tone}`} />
    <div>{children}</div>
  </li>
)

/** A link: its text and its address. */
export type Way = readonly [text: string, address: string]
/** Links that look like buttons. */
export const Ways = ({ of }: { of: readonly Way[] }) => (
  <>
    {of.map(([text, address]) => (
      <a key={text} class="button" href={address}>
        {text}
      </a>
    ))}
  </>
)

/** A name and its value, or nothing. */
export type Fact = readonly [name: ComponentChildren, value: ComponentChildren] | false | undefined
/** Names and values. */
export const Facts = ({ of }: { of: readonly Fact[] }) => (
  <dl class="facts">
    {of
      .filter((each) => each !== false && each !== undefined)
      .map(([name, value], i) => (
        <div key={typeof name === 'string' ? name : i}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
  </dl>
)

/** Texts in code, one on each line. */
export const Lines = ({ of, or = 'none' }: { of: readonly string[]; or?: string }) => (
  <>
    {of.length === 0 && <span class="soft">{or}</span>}
    {of.map((each) => (
      <div key={each}>
        <code>{each}</code>
      </div>
    ))}
  </>
)

/** A button that copies a text. */
export function CopyButton({ text, what }: { text: string; what: string }) {
  const [isDone, setDone] = useState(false)
  const copy = async ({ currentTarget }: MouseEvent) => {
    await copyText(text, currentTarget as HTMLElement)
    setDone(true)
    setTimeout(() => setDone(false), 1600)
  }
  return (
    <button
      type="button"
      class="icon"
      title={`Copy ${what}`}
      aria-label={`Copy ${what}`}
      onClick={(event) => void copy(event)}
    >
      {isDone ? <DoneIcon /> : <CopyIcon />}
    </button>
  )
}

/** Copies a text. Browsers offer their clipboard only over https and on this machine; elsewhere the text is selected beside the button. */
async function copyText(text: string, button: HTMLElement): Promise<void> {
  if (window.isSecureContext) return navigator.clipboard.writeText(text)
  const area = document.createElement('textarea')
  area.value = text
  area.className = 'unseen'
  button.before(area)
  area.select()
  document.execCommand('copy')
  area.remove()
  button.focus()
}

/** A text to copy. */
export const Copy = ({ text, what }: { text: string; what: string }) => (
  <span class="copy">
    <code>{text}</code>
    <CopyButton text={text} what={what} />
  </span>
)

/** Lines of code to copy. */
export const Code = ({ text, what }: { text: string; what: string }) => (
  <div class="code-box">
    <CopyButton text={text} what={what} />
    <pre class="code">{text}</pre>
  </div>
)

/** A value as JSON. */
export const JsonText = ({ of, what }: { of: unknown; what: string }) => (
  <Code text={JSON.stringify(of, null, 2) ?? ''} what={what} />
)
