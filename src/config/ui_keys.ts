// Keys of the pages for users: name, logo, color and links of the operator. Values are text, colors and URLs, never HTML.
import { colorKey, helpKey, linkKey, textKey } from './key.ts'

/** The backgrounds of the pages, and the text on buttons, in the light and the dark color scheme. */
export const SURFACES = {
  light: { page: '#f3f5f8', card: '#ffffff', tint: '#f7f8fa', buttonText: '#ffffff' },
  dark: { page: '#0e1015', card: '#171a21', tint: '#1e222b', buttonText: '#0a1633' },
} as const

/** Whether a text for users is a link. */
export const isLink = (text: string): boolean => /^(https?|mailto):/i.test(text)

export const uiKeys = {
  product_name: textKey({ max: 60 }).describe(
    'Name of the product on the pages for users, and in their titles. Empty: the host of the issuer.',
  ),
  logo_file: textKey().describe(
    'PNG or SVG file of at most 256 KiB that the pages for users show instead of the key symbol. It is read at the start.',
  ),
  accent_color: colorKey({ default: '#2456d3', against: Object.values(SURFACES.light) }).describe(
    'Color of buttons and links in the light color scheme. It must have a contrast of at least 4.5:1 with the white text of buttons and with the backgrounds. YAML needs quotes around it, because # begins a comment.',
  ),
  accent_color_dark: colorKey({ default: '', against: Object.values(SURFACES.dark) }).describe(
    'Color of buttons and links in the dark color scheme, with the same contrast to the dark text of buttons and the dark backgrounds. Empty: a lighter tone of accent_color.',
  ),
  support_url: linkKey().describe('Link to support below the pages for users.'),
  terms_url: linkKey().describe('Link to the terms of service below the pages for users.'),
  password_help: helpKey().describe(
    'What a user does who forgot the password: an https or mailto URL, or a text. The sign-in page shows it as "Forgot your password?". Empty: the text says that an administrator can send a link.',
  ),
  privacy_url: linkKey().describe('Link to the privacy policy below the pages for users.'),
} as const
