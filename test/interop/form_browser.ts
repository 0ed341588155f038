// A browser that signs in on the pages of another provider: it follows redirects and fills in the form that it meets.
import { Browser, type Page } from '../support/browser.ts'

export class FormBrowser extends Browser {
  private readonly places: readonly string[]
  private readonly fields: Record<string, string>

  /** `places` are the origins that belong to the test, `fields` what the user enters into the form of the provider. */
  constructor(places: readonly string[], fields: Record<string, string>) {
    super()
    this.places = places.map((place) => new URL(place).origin)
    this.fields = fields
  }

  /** Opens a page, signs in where a provider asks for it, and goes on until a redirect leaves the places or a page remains. */
  async travel(url: string): Promise<Page> {
    const page = await this.onward(await this.open(url), url)
    const action = /<form[^>]*\saction="([^"]*)"/.exec(page.text)?.[1]
    if (!action || !this.isForm(page)) return page
    const there = new URL(action.replaceAll('&amp;', '&'), this.at).href
    return this.onward(await this.post(there, this.fields), there)
  }

  private at = ''
  private isForm({ text }: Page): boolean {
    return Object.keys(this.fields).every((name) => text.includes(`name="${name}"`))
  }

  private async onward(first: Page, from: string): Promise<Page> {
    let page = first
    this.at = from
    while (page.location && this.places.includes(new URL(page.location).origin)) {
      this.at = page.location
      page = await this.open(page.location)
    }
    return page
  }
}
