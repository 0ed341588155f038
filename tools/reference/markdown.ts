// The few pieces of Markdown that the generated pages are made of.

/** A page: title, where it comes from, then its parts with a blank line between. */
export const page = (title: string, source: string, ...parts: readonly string[]): string =>
  `${[`# ${title}`, `<!-- Generated from ${source} by \`npm run generate\`; do not edit. -->`, ...parts].join('\n\n')}\n`

/** A table; cells may hold any text. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}

/** Text as it is typed; nothing for nothing. */
export const code = (text: string): string => (text === '' ? '' : `\`${text}\``)
