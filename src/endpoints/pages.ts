// The pages people see: server-rendered, no script, one style sheet whose hash the policy names.
import { createHash } from 'node:crypto'
import { html as htmlReply, type Reply } from '../http/message.ts'

/** HTML that is already safe. */
export class Markup {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}
type Value = string | number | Markup | undefined | false | readonly Value[]

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }
// Controls that turn the direction of text could make one host look like another.
const render = (value: Value): string => {
  if (value === undefined || value === false) return ''
  if (value instanceof Markup) return value.text
  if (typeof value === 'object') return value.map(render).join('')
  return String(value)
    .replace(/[\u202a-\u202e\u2066-\u2069\u200e\u200f]/g, '')
    .replace(/[&<>"']/g, (char) => ENTITIES[char] as string)
}

/** A template that escapes everything but Markup. */
export const html = (parts: TemplateStringsArray, ...values: Value[]): Markup =>
  new Markup(parts.reduce((all, part, i) => all + render(values[i - 1]) + part))

const STYLE = `
:root{color-scheme:light dark;--ink:#1c1f26;--soft:#5b6270;--line:#d5d9e0;--page:#f3f4f7;--card:#fff;--accent:#1f5fd0;--accent-ink:#fff;--warn:#8a4b00;--warn-bg:#fff3df;--bad:#a3181d;--bad-bg:#fdeaea}
@media (prefers-color-scheme:dark){:root{--ink:#e9ebf0;--soft:#a3aaba;--line:#383e4b;--page:#12141a;--card:#1b1e26;--accent:#7aa7ff;--accent-ink:#0b1426;--warn:#ffce8a;--warn-bg:#3a2a10;--bad:#ff9d9f;--bad-bg:#3d1a1c}}
*{box-sizing:border-box}
body{margin:0;min-height:100vh;display:grid;place-items:center;padding:1rem;background:var(--page);color:var(--ink);font:1rem/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
main{width:100%;max-width:27rem;background:var(--card);border:1px solid var(--line);border-radius:14px;padding:1.75rem 1.5rem;overflow-wrap:anywhere}
h1{font-size:1.35rem;line-height:1.3;margin:0 0 .25rem}
h2{font-size:.95rem;margin:1.25rem 0 .35rem}
p{margin:.5rem 0}
.soft{color:var(--soft);font-size:.92rem}
label{display:block;margin:1rem 0 .3rem;font-weight:600}
input[type=email],input[type=password]{width:100%;padding:.65rem .75rem;font:inherit;color:inherit;background:var(--page);border:1px solid var(--line);border-radius:8px}
:focus-visible{outline:3px solid var(--accent);outline-offset:2px}
button{font:inherit;font-weight:600;min-height:2.75rem;padding:.55rem 1rem;border-radius:8px;border:1px solid var(--line);background:transparent;color:inherit;cursor:pointer}
button.main{background:var(--accent);border-color:var(--accent);color:var(--accent-ink)}
.wide{width:100%;margin-top:1.4rem}
.buttons{display:grid;grid-template-columns:1fr 1fr;gap:.75rem;margin-top:1.5rem}
.note{border-radius:8px;padding:.65rem .8rem;margin:1rem 0;font-size:.95rem}
.bad{color:var(--bad);background:var(--bad-bg)}
.warn{color:var(--warn);background:var(--warn-bg)}
.host{font-size:1.15rem;font-weight:700;padding:.6rem .8rem;border:1px solid var(--line);border-radius:8px;background:var(--page)}
ul{list-style:none;margin:.25rem 0;padding:0}
li label{display:flex;gap:.7rem;align-items:flex-start;margin:0;padding:.55rem 0;font-weight:400;border-bottom:1px solid var(--line)}
li:last-child label{border-bottom:0}
li input{margin:.25rem 0 0;width:1.15rem;height:1.15rem;flex:none;accent-color:var(--accent)}
code{font-size:.9em;color:var(--soft)}
footer{margin-top:1.5rem;padding-top:.8rem;border-top:1px solid var(--line)}
.link{border:0;padding:0;min-height:0;font-weight:400;text-decoration:underline;color:var(--accent)}
form.inline{display:inline}
`
const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64')

interface PageOptions {
  status?: number
  headers?: Record<string, string | string[]>
  /** Where forms may lead, redirects included; any place when it cannot be told. */
  formAction?: string
}

/** A whole page. */
export function page(title: string, body: Markup, { status = 200, headers = {}, formAction }: PageOptions = {}): Reply {
  const policy = [
    "default-src 'none'",
    `style-src 'sha256-${STYLE_HASH}'`,
    "base-uri 'none'",
    "frame-ancestors 'none'",
    ...(formAction ? [`form-action ${formAction}`] : []),
  ].join('; ')
  const document = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${title}</title>
<style>${new Markup(STYLE)}</style>
</head>
<body>
<main>
${body}
</main>
</body>
</html>
`
  return htmlReply(status, document.text, { 'content-security-policy': policy, ...headers })
}

/** A page that says what went wrong and what to do. */
export const errorPage = (title: string, text: string, requestId: string, options: PageOptions): Reply =>
  page(
    title,
    html`<h1>${title}</h1>
<p class="note bad" role="alert">${text}</p>
<p class="soft">Go back to the application and try again. If this happens again, tell its support this number: <code>${requestId}</code></p>`,
    options,
  )
