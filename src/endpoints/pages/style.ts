// The style sheet of the pages for users, with the accent colors of the configuration.
import { SURFACES } from '../../config/ui_keys.ts'
import { lightened } from '../../lib/color.ts'

interface Accents {
  accent_color: string
  accent_color_dark: string
}

/** The contrast of the tone that is computed for the dark color scheme (WCAG 2.2 §1.4.6). */
const DARK_CONTRAST = 7

/** The style sheet. */
export function styleSheet({ accent_color, accent_color_dark }: Accents): string {
  const dark = accent_color_dark || lightened(accent_color, SURFACES.dark.tint, DARK_CONTRAST)
  return `
:root{color-scheme:light dark;${surfaces('light')};--ink:#171a21;--soft:#565d6b;--line:#e1e4ea;--edge:#858d9b;--accent:${accent_color};--glow:${accent_color}1a;--hover:.92;--warn:#7a4300;--warn-bg:#fff4e0;--bad:#a3181d;--bad-bg:#fdecec}
@media (prefers-color-scheme:dark){:root{${surfaces('dark')};--ink:#eceef3;--soft:#a6aebd;--line:#2d333e;--edge:#757e8e;--accent:${dark};--glow:${dark}1f;--hover:1.08;--warn:#ffd08a;--warn-bg:#33260f;--bad:#ffa3a4;--bad-bg:#3a191b}}
${RULES}`
}

const surfaces = (scheme: keyof typeof SURFACES): string => {
  const { page, card, tint, buttonText } = SURFACES[scheme]
  return `--page:${page};--card:${card};--tint:${tint};--accent-ink:${buttonText}`
}

const RULES = `*{box-sizing:border-box}
body{margin:0;min-height:100vh;min-height:100dvh;display:grid;place-items:center;align-content:center;gap:1rem;padding:2rem 1rem;background:radial-gradient(60rem 32rem at 50% -8rem,var(--glow),transparent) var(--page);color:var(--ink);font:1rem/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;-webkit-text-size-adjust:100%}
main{width:100%;min-width:0;max-width:27.5rem;background:var(--card);border:1px solid var(--line);border-radius:16px;padding:2rem;box-shadow:0 1px 2px #1018280d,0 12px 32px -12px #10182829;overflow-wrap:anywhere}
@media (max-width:30rem){body{place-items:start center;align-content:start;gap:0;padding:0;background:var(--card)}main{border:0;border-radius:0;box-shadow:none;padding:1.75rem 1.25rem 2rem}}
.mark{display:block;width:2.75rem;height:2.75rem;padding:.6rem;margin-bottom:1rem;border-radius:12px;color:var(--accent);background:var(--glow)}
.brand{display:flex;align-items:center;gap:.75rem;margin:0 0 1rem;font-weight:600}
.brand .mark{margin:0;flex:none}
.brand span{min-width:0}
.logo{display:block;max-width:100%;height:3rem;object-fit:contain;object-position:left center;margin-bottom:1rem}
h1{font-size:1.4rem;line-height:1.3;letter-spacing:-.01em;text-wrap:balance;margin:0;overflow:hidden}
h2{font-size:1.1rem;line-height:1.3;margin:0}
section{margin-top:2.25rem;scroll-margin-top:1rem}
nav{display:flex;flex-wrap:wrap;gap:.25rem 1.25rem;margin-top:.75rem;font-size:.925rem}
nav a{padding:.35rem 0}
section .note{margin-top:.6rem}
.note+h1{margin-top:1.1rem}
form+.soft{margin-top:1rem}
main:has(section){max-width:40rem}
p{margin:.35rem 0}
.soft,dt,code{color:var(--soft)}
.soft,dt{font-size:.925rem}
code{font:.85rem/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}
a,.soft a{color:var(--accent);text-underline-offset:.15em}
label{display:block;margin:1.1rem 0 .35rem;font-weight:600}
input:is([type=email],[type=password],[type=text]),select{width:100%;min-height:2.9rem;padding:.6rem .8rem;font:inherit;color:inherit;background:var(--tint);border:1px solid var(--edge);border-radius:10px}
:focus-visible{outline:3px solid var(--accent);outline-offset:2px}
button,.button{font:inherit;font-weight:600;min-height:2.9rem;padding:.55rem 1rem;border-radius:10px;border:1px solid var(--edge);background:transparent;color:inherit;cursor:pointer}
.button{display:block;text-align:center;text-decoration:none}
:is(button,.button):hover{background:var(--tint)}
:is(button,.button).main{background:var(--accent);border-color:var(--accent);color:var(--accent-ink)}
:is(button,.button).main:hover{filter:brightness(var(--hover))}
input.code{font:600 1.35rem/1.4 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;letter-spacing:.12em;text-transform:uppercase;text-align:center}
.secret{display:grid;grid-template-columns:1fr auto;align-items:end;column-gap:.75rem}
.secret input{grid-column:1/-1}
.reveal{grid-area:1/2;min-height:2.75rem;margin:.35rem -.5rem -.3rem 0;padding:.3rem .5rem;border:0;font-size:.925rem;font-weight:400;color:var(--accent)}
.reveal[hidden]{display:none}
summary{color:var(--accent);cursor:pointer;text-decoration:underline;text-underline-offset:.15em}
.languages{display:flex;flex-wrap:wrap;gap:.5rem;justify-content:center}
.languages button{border:0;font-size:.925rem;font-weight:400;color:var(--accent);text-decoration:underline;text-underline-offset:.15em}
@media (max-width:30rem){.languages{padding-bottom:1rem}}
.or{text-align:center;margin:1.1rem 0 -.5rem}
.wide{width:100%;margin-top:1.6rem}
.button.wide+.button.wide{margin-top:.75rem}
.buttons{display:grid;grid-template-columns:1fr 1fr;gap:.75rem;margin-top:1.5rem}
.note{border-radius:10px;padding:.7rem .9rem;margin:1.1rem 0 0;font-size:.95rem;background:var(--tint)}
.bad{color:var(--bad);background:var(--bad-bg)}
.warn{color:var(--warn);background:var(--warn-bg)}
dl,ul{margin:1.25rem 0 0;padding:0;border:1px solid var(--line);border-radius:12px;list-style:none}
dl div,li label{padding:.7rem .9rem}
dl div+div,li+li{border-top:1px solid var(--line)}
dd{margin:.1rem 0 0}
dd code{display:block}
.host{font-size:1.2rem;font-weight:700;letter-spacing:-.01em}
fieldset{border:0;margin:1.5rem 0 0;padding:0;min-width:0}
legend{padding:0;font-weight:600}
fieldset ul{margin-top:.6rem}
li label{display:flex;gap:.75rem;align-items:flex-start;margin:0;font-weight:400;cursor:pointer}
li label:hover{background:var(--tint)}
li:first-child label{border-radius:11px 11px 0 0}
li:last-child label{border-radius:0 0 11px 11px}
li:only-child label{border-radius:11px}
li span{min-width:0}
li code{display:block}
li input{margin:.2rem 0 0;width:1.15rem;height:1.15rem;flex:none;accent-color:var(--accent)}
.row{display:flex;gap:.75rem;justify-content:space-between;align-items:center;padding:.7rem .9rem}
.row form{flex:none}
.row .soft{display:block}
@media (max-width:30rem){.row{flex-wrap:wrap}}
footer{display:flex;flex-wrap:wrap;gap:0 1rem;justify-content:space-between;margin-top:1.5rem}
footer span{min-width:0}
.qr{display:block;width:12rem;max-width:100%;margin:1.1rem auto;border-radius:8px}
.codes li{padding:.35rem .9rem;text-align:center}
.after{margin-top:1.1rem}
.links{max-width:27.5rem;min-width:0;justify-content:center;gap:.25rem 1.25rem;margin:0;font-size:.925rem;overflow-wrap:anywhere}
@media (max-width:30rem){.links{padding:0 1.25rem 2rem}}
`
