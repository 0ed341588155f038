// Requests and tokens over time: the choice of the range, the marks, and the card of one client, resource or user.
import { compact, number, quantity } from '../lib/format.ts'
import { useHistory, useRange } from '../lib/history.ts'
import { RANGES, type RangeName } from '../lib/range.ts'
import { go, href, usePlace } from '../lib/router.ts'
import { Chart, type ChartMark } from './chart.tsx'
import { Card, ProblemNote, Time } from './text.tsx'

/** `24 h`. */
const nameOf = (range: RangeName) => range.replace(/\D/, ' $&')

/** Buttons for the range of the charts of a page. It is in the address, so that a view can be shared. */
export function RangeChoice({ range }: { range: RangeName }) {
  const { segments, query } = usePlace()
  return (
    <fieldset class="ranges">
      <legend class="hidden-label">Time range</legend>
      {(Object.keys(RANGES) as RangeName[]).map((each) => (
        <button
          key={each}
          type="button"
          aria-pressed={each === range}
          onClick={() => go(href(segments, { ...query, range: each }), { replace: true })}
        >
          {nameOf(each)}
        </button>
      ))}
    </fieldset>
  )
}

/** The changes that the charts mark, as a list. */
export const Marks = ({ of }: { of: readonly ChartMark[] }) =>
  of.length === 0 ? null : (
    <details class="small body">
      <summary>{quantity(of.length, 'change')} in this time, marked in the charts</summary>
      <ul class="marks">
        {of.toReversed().map(({ at, kind, text }) => (
          <li key={`${at} ${text}`}>
            <b>{kind.charAt(0).toUpperCase()}</b> {text} <Time at={new Date(at * 1000).toISOString()} />
          </li>
        ))}
      </ul>
    </details>
  )

interface ActivityProps {
  client_id?: string
  resource?: string
  user_id?: string
}
/** What one client, resource or user did over time. Only requests of clients can be refused. */
export function ActivityCard(of: ActivityProps) {
  const range = useRange('24h')
  const { data, error } = useHistory(range, of)
  const sum = (count: 'issued' | 'refused') => (data?.all ?? []).reduce((total, point) => total + point[count], 0)
  const line = (name: string, count: 'issued' | 'refused' | 'limited') => ({
    name,
    values: (data?.points ?? []).map((point) => point?.[count] ?? null),
  })
  const isClient = of.client_id !== undefined
  return (
    <Card title="Activity" aside={<RangeChoice range={range} />}>
      <ProblemNote error={error} />
      {data && (
        <>
          <p class="body soft small">
            {data.all.length === 0
              ? 'Nothing was measured in this time.'
              : `${quantity(sum('issued'), 'token')}${isClient ? `, ${number(sum('refused'))} refused` : ''} in ${nameOf(range)}`}
          </p>
          <Chart
            label="Requests in each period"
            times={data.times}
            seconds={RANGES[range]}
            marks={data.marks}
            lines={[
              line('tokens', 'issued'),
              ...(isClient ? [line('refused', 'refused'), line('429', 'limited')] : []),
            ]}
            format={(value) => compact(Math.round(value))}
          />
          <Marks of={data.marks} />
        </>
      )}
    </Card>
  )
}
