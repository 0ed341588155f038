// Waste: the clients that ask for tokens much more often than they need.
import { compact, number, quantity, span } from '../lib/format.ts'
import { useGet } from '../lib/load.ts'
import { href } from '../lib/router.ts'
import type { Waste } from '../lib/types.ts'
import { Card, Copy, Empty, Facts, Name, PageHead, ProblemNote } from '../parts/text.tsx'

/** The report of wasted tokens. */
export function WastePage() {
  const { data, error } = useGet<Waste>('/admin/stats/waste')
  return (
    <div class="stack">
      <PageHead
        title="Waste"
        about="Clients that ask for a new token although the last one is still valid. Each token costs processor time and a row of the record."
      />
      <ProblemNote error={error} />
      {data?.clients.length === 0 && (
        <Empty title="No client wastes tokens">
          <p>In the last {span(data.window)}, no client got five times the tokens that it needs.</p>
        </Empty>
      )}
      {data?.clients.map((client) => (
        <WasteCard key={client.client_id} of={client} window={data.window} />
      ))}
    </div>
  )
}

const WasteCard = ({ of, window }: { of: Waste['clients'][number]; window: number }) => (
  <Card>
    <Facts
      of={[
        [
          'Client',
          <a key="client" class="main" href={href(['clients', of.client_id])}>
            <Name of={of.client_name} or={of.client_id} />
          </a>,
        ],
        [
          'Tokens',
          `${number(of.tokens)} within ${span(window)}, from ${quantity(of.addresses, 'address', 'addresses')}`,
        ],
        ['Needed', `${number(of.needed)}, because a token is valid for ${span(of.lifetime)}`],
        [
          'Cost of a month',
          `${compact(of.month.rows)} rows, ${number(of.month.gigabytes)} GB, ${number(of.month.cpu_hours)} hours of a processor`,
        ],
        ['To its owner', <Copy key="message" text={of.message} what="message" />],
      ]}
    />
  </Card>
)
