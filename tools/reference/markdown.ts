// The few pieces of Markdown that the generated pages are made of.

/** A page: the title, a note about its source, and its parts, separated by blank lines. */
export const page = (title: string, source: string, ...parts: readonly string[]): string =>
  `${[`# ${title}`, `<!-- Generated from ${source} by \`npm run generate\`; do not edit. -->`, ...parts].join('\n\n')}\n`

/** A table; cells may hold any text. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}

/** Text as code; an empty text stays empty. */
export const code = (text: string): string => (text === '' ? '' : `\`${text}\``)
