// Looks at a page as the browser has laid it out and painted it, and says what is wrong with it.
import type { Page } from 'playwright-core'

/** What a person would stumble over: overflow, faint text, controls without a name or too small to hit. */
export const flawsOf = (page: Page): Promise<string[]> =>
  page.locator('html').evaluate((html) => {
    const flaws: string[] = []
    const { defaultView: view } = html.ownerDocument
    const main = html.querySelector('main')
    const parts = [main, ...html.querySelectorAll('body > footer')]
    const elements = parts
      .flatMap((part) => [...part.querySelectorAll('*')])
      .filter((element) => element.getClientRects().length > 0)
    const name = (element: typeof main) => `<${element.localName}> ${element.textContent.trim().slice(0, 30)}`

    type Color = [number, number, number, number]
    const parse = (text: string): Color => {
      const [r = 0, g = 0, b = 0, a = 1] = (text.match(/[\d.]+/g) ?? []).map(Number)
      return [r, g, b, a]
    }
    const over = ([r, g, b, a]: Color, [r2, g2, b2]: Color): Color => [
      r * a + r2 * (1 - a),
      g * a + g2 * (1 - a),
      b * a + b2 * (1 - a),
      1,
    ]
    const backgroundOf = (element: typeof main): Color => {
      const own = parse(view.getComputedStyle(element).backgroundColor)
      return own[3] === 1 ? own : over(own, backgroundOf(element.parentElement))
    }
    const luminance = (color: Color) => {
      const [r = 0, g = 0, b = 0] = color
        .slice(0, 3)
        .map((part) => part / 255)
        .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
      return 0.2126 * r + 0.7152 * g + 0.0722 * b
    }
    /** WCAG 2.2 §1.4.3 */
    const contrast = (color: string, background: Color) => {
      const [dark = 0, light = 0] = [luminance(over(parse(color), background)), luminance(background)].sort(
        (a, b) => a - b,
      )
      return (light + 0.05) / (dark + 0.05)
    }

    if (html.scrollWidth > html.clientWidth) flaws.push(`scrolls sideways: ${html.scrollWidth} > ${html.clientWidth}`)
    const inner = main.getBoundingClientRect()
    for (const element of elements) {
      const box = element.getBoundingClientRect()
      const style = view.getComputedStyle(element)
      if (box.left < inner.left || box.right > inner.right) flaws.push(`sticks out: ${name(element)}`)
      if (element.scrollWidth > element.clientWidth + 1 && style.overflowX === 'hidden')
        flaws.push(`cut off: ${name(element)}`)

      const hasText = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim())
      const ratio = contrast(style.color, backgroundOf(element))
      if (hasText && ratio < 4.5) flaws.push(`faint, ${ratio.toFixed(2)}: ${name(element)}`)

      const isField = element.matches('input, button')
      const edge =
        element.matches('input:not([type=checkbox]), button') &&
        contrast(style.borderTopColor, backgroundOf(element.parentElement))
      if (edge !== false && edge < 3) flaws.push(`faint edge, ${edge.toFixed(2)}: ${name(element)}`)
      const target = element.matches('input[type=checkbox]') ? element.closest('label').getBoundingClientRect() : box
      if (isField && (target.height < 44 || target.width < 44)) flaws.push(`small target: ${name(element)}`)
      const label =
        element.labels?.[0]?.textContent.trim() || (element.localName === 'button' && element.textContent.trim())
      if (isField && !label) flaws.push(`no name: ${element.outerHTML}`)
    }
    if (!/^(en|de|es)$/.test(html.lang)) flaws.push('no language')
    if (html.querySelectorAll('h1').length !== 1) flaws.push('not one h1')
    return flaws
  })
