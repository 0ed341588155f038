// QR codes as SVG: black on white in every colour scheme, because scanners need the contrast and the margin.
import encodeQR from 'qr'
import { Markup } from '../../lib/html.ts'

/** The QR code of a text. */
export function qrCode(text: string): Markup {
  const rows = encodeQR(text, 'raw', { ecc: 'medium', border: 4 })
  const dark = rows.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : [])))
  const size = rows.length
  return new Markup(
    `<svg class="qr" viewBox="0 0 ${size} ${size}" role="img" aria-label="QR code" shape-rendering="crispEdges"><path fill="#fff" d="M0 0h${size}v${size}H0z"/><path d="${dark.join('')}"/></svg>`,
  )
}
