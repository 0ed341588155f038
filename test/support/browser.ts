// A browser without a screen: stores cookies, follows redirects only on request, reads the forms of the pages.

export interface Page {
  status: number
  headers: Headers
  text: string
  /** Absolute, when the answer is a redirect. */
  location?: string
}

export class Browser {
  readonly cookies = new Map<string, string>()
  readonly #headers: Readonly<Record<string, string>>

  /** `headers` are sent with every request. */
  constructor(headers: Readonly<Record<string, string>> = {}) {
    this.#headers = headers
  }

  async open(url: string, init: RequestInit = {}): Promise<Page> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const response = await fetch(url, {
      redirect: 'manual',
      ...init,
      headers: { accept: 'text/html', ...this.#headers, ...(cookie ? { cookie } : {}), ...init.headers },
    })
    for (const line of response.headers.getSetCookie()) {
      const [pair = '', ...attributes] = line.split('; ')
      const eq = pair.indexOf('=')
      if (attributes.includes('Max-Age=0')) this.cookies.delete(pair.slice(0, eq))
      else this.cookies.set(pair.slice(0, eq), pair.slice(eq + 1))
    }
    const location = response.headers.get('location')
    return {
      status: response.status,
      headers: response.headers,
      text: await response.text(),
      location: location ? new URL(location, url).href : undefined,
    }
  }

  /** Opens a page and follows redirects within its origin. */
  async follow(url: string): Promise<Page> {
    let page = await this.open(url)
    while (page.location?.startsWith(new URL(url).origin)) page = await this.open(page.location)
    return page
  }

  post(url: string, fields: Record<string, string> | [string, string][], headers: Record<string, string> = {}) {
    return this.open(url, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
      body: new URLSearchParams(fields).toString(),
    })
  }
}

/** The fields of the first form of a page as a browser would send them; checkboxes only when checked. */
export function fieldsOf(page: Page): [string, string][] {
  const [form = ''] = /<form[\s\S]*?<\/form>/.exec(page.text) ?? []
  return fieldsIn(form)
}

export interface Form {
  /** The path that it is posted to. */
  action: string
  fields: [string, string][]
  /** The form as HTML. */
  html: string
}

/** The forms of a page. */
export const formsOf = (page: Page): Form[] =>
  [...page.text.matchAll(/<form\b[^>]*\saction="([^"]*)"[\s\S]*?<\/form>/g)].map(([html, action = '']) => ({
    action: unescaped(action),
    fields: fieldsIn(html),
    html,
  }))

function fieldsIn(form: string): [string, string][] {
  return [...form.matchAll(/<input[^>]*>/g)].flatMap(([tag]) => {
    const attribute = (name: string) => new RegExp(`\\s${name}="([^"]*)"`).exec(tag)?.[1]
    const name = attribute('name')
    if (!name || (attribute('type') === 'checkbox' && !/\schecked/.test(tag))) return []
    return [[name, unescaped(attribute('value') ?? '')] as [string, string]]
  })
}

const ENTITIES: Record<string, string> = { '&amp;': '&', '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#39;': "'" }
const unescaped = (text: string) => text.replace(/&(?:amp|lt|gt|quot|#39);/g, (entity) => ENTITIES[entity] as string)
