// Colors and their contrast (WCAG 2.2, relative luminance and contrast ratio).

type Rgb = readonly [red: number, green: number, blue: number]

const HEX_COLOR = /^#[0-9a-f]{6}$/i
/** Whether a text is a color such as #2456d3. */
export const isColor = (text: string): boolean => HEX_COLOR.test(text)

const partsOf = (color: string): Rgb => {
  const part = (at: number) => Number.parseInt(color.slice(at, at + 2), 16)
  return [part(1), part(3), part(5)]
}

function luminance(color: string): number {
  const [red, green, blue] = partsOf(color)
  const linear = (value: number) => (value <= 10 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4)
  return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
}

/** The contrast ratio of two colors, from 1 to 21. */
export function contrast(one: string, other: string): number {
  const [dark = 0, light = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b)
  return (light + 0.05) / (dark + 0.05)
}

const STEPS = 20
/** The darkest mixture of a color with white that has at least the contrast `least` with a dark background. */
export function lightened(color: string, background: string, least: number): string {
  const mixed = Array.from({ length: STEPS + 1 }, (_, step) => mixedWithWhite(color, step / STEPS))
  return mixed.find((each) => contrast(each, background) >= least) ?? '#ffffff'
}

const mixedWithWhite = (color: string, share: number): string =>
  `#${partsOf(color)
    .map((value) =>
      Math.round(value + (255 - value) * share)
        .toString(16)
        .padStart(2, '0'),
    )
    .join('')}`
