// docs/reference/products.md, from what `npm run products` has recorded.
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { packageRoot } from '../../src/lib/paths.ts'
import { page, table } from './markdown.ts'

/** What the test of a product recorded. */
export interface ProductRow {
  name: string
  version: string
  /** How it comes: the registry and the package. */
  from: string
  /** What its documentation asks for, or what had to be set, in the product and in the service. */
  set: readonly string[]
  /** The titles of its tests. */
  worked: readonly string[]
  /** The day of the run. */
  date: string
}

const INTRO = `\`npm run products\` connects these products to the service, each as its registry has it, and writes its row. It is run by hand, because some of them are built for minutes. A row is written only when every test of the product has
passed, so each row means: nothing failed. The settings are everything that is not a default, besides issuer, client id, secret and redirect URI. MCP clients have [a page of their own](clients.md); [OpenID Connect](../guides/openid.md#relying-parties) has
more relying parties.`

const LEFT_OUT = `These products belong to the list, and were not run on the machine of this page:`

/** The page. */
export function renderProducts(): string {
  const folder = path.join(packageRoot, 'test/products')
  const read = <T>(file: string): T => JSON.parse(readFileSync(path.join(folder, file), 'utf8')) as T
  const rows = readdirSync(path.join(folder, 'results'))
    .sort()
    .map((file) => read<ProductRow>(`results/${file}`))
  const missing = read<Readonly<Record<string, string>>>('left_out.json')
  return page(
    'Products',
    'test/products',
    INTRO,
    table(
      ['Product', 'Comes from', 'What was set', 'What worked', 'Date'],
      rows.map(({ name, version, from, set, worked, date }) => [
        `${name} ${version}`,
        from,
        set.join('; '),
        worked.join('; '),
        date,
      ]),
    ),
    '## Left out',
    LEFT_OUT,
    table(['Product', 'Why'], Object.entries(missing)),
  )
}
