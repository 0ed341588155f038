// A browser with cookies for a service and for its providers, which follows redirects among them.
import { Browser, type Page } from './browser.ts'

export class FederatedBrowser extends Browser {
  private readonly service: string
  private readonly providers: Map<string, Browser>
  constructor(service: { issuer: string }, ...providers: readonly { issuer: string }[]) {
    super()
    this.service = service.issuer
    this.providers = new Map(providers.map(({ issuer }) => [new URL(issuer).origin, new Browser()]))
  }

  async travel(url: string): Promise<Page> {
    let page = await this.step(url)
    while (page.location && this.isKnown(page.location)) page = await this.step(page.location)
    return page
  }

  /** Signs in at a provider from the login page, by the link with its name. */
  async signInAt(name: string, redirect = '/'): Promise<Page> {
    const { text } = await this.open(`${this.service}/login?${new URLSearchParams({ redirect })}`)
    const href = new RegExp(`href="([^"]*)">Continue with <bdi>${name}</bdi>`).exec(text)?.[1]
    if (!href) throw new Error(`the login page has no link for ${name}`)
    return this.travel(this.service + href.replaceAll('&amp;', '&'))
  }

  private isKnown(url: string): boolean {
    return url.startsWith(this.service) || this.providers.has(new URL(url).origin)
  }

  /** One request, with the cookies of its site. */
  step(url: string): Promise<Page> {
    const provider = this.providers.get(new URL(url).origin)
    return provider && !url.startsWith(this.service) ? provider.open(url) : this.open(url)
  }
}
