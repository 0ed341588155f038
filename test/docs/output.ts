// Compares what a command printed with what the documentation shows: `…` there stands for anything.

/** Whether the end of an output is what is shown; JSON is compared by its values, however it is laid out. */
export function isShown(lang: string, shown: string, stdout: string): boolean {
  if (lang === 'json') return fits(JSON.parse(shown), lastJson(stdout))
  return pattern(`${shown.trimEnd()}\n`).test(stdout)
}

const pattern = (text: string) =>
  new RegExp(`(^|\\n)${text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replaceAll('…', '[^]*?')}$`)

/** The last JSON value: the last line, or from the last line that opens one at its beginning. */
function lastJson(stdout: string): unknown {
  const lines = stdout.trimEnd().split('\n')
  for (let i = lines.length - 1; i >= 0; i--) {
    if (!/^[[{]/.test(lines[i] as string)) continue
    try {
      return JSON.parse(lines.slice(i).join('\n'))
    } catch {}
  }
  return undefined
}

/** A member `"…"` allows further ones. */
function fits(shown: unknown, real: unknown): boolean {
  if (typeof shown === 'string') return shown.includes('…') ? pattern(shown).test(`\n${String(real)}`) : shown === real
  if (typeof shown !== 'object' || shown === null) return shown === real
  if (typeof real !== 'object' || real === null || Array.isArray(shown) !== Array.isArray(real)) return false
  const [expected, given] = [Object.entries(shown), Object.keys(real)]
  const isOpen = '…' in shown
  const named = expected.filter(([name]) => name !== '…')
  if (!isOpen && named.length !== given.length) return false
  return named.every(([name, value]) => fits(value, (real as Record<string, unknown>)[name]))
}
