// What needs attention, as the status tells it: the list on the first page, unsafe settings and upstream providers.
import { quantity } from '../lib/format.ts'
import { href } from '../lib/router.ts'
import type { Status } from '../lib/types.ts'
import { fullTime } from '../lib/zone.ts'
import { Card, DotItem, Time } from './text.tsx'

/** What the page shows while the server does not answer. */
export const Stale = ({ at, retry }: { at?: number; retry: () => void }) => (
  <p class="actions">
    {at === undefined ? (
      'Nothing has been read yet.'
    ) : (
      <>These values are from {fullTime(new Date(at).toISOString())}.</>
    )}{' '}
    <button type="button" onClick={retry}>
      Retry
    </button>
  </p>
)

/** What needs a person, or that nothing does. */
export const AttentionCard = ({ of }: { of: Status['attention'] }) => (
  <Card title={of.length === 0 ? 'Nothing needs attention' : `Needs attention (${of.length})`}>
    {of.length > 0 && (
      <ul class="concerns" aria-label="Needs attention">
        {of.map(({ severity, text, page, since }) => (
          <DotItem key={text} tone={severity}>
            {text}{' '}
            {since && (
              <span class="soft">
                <Time at={since} />
              </span>
            )}{' '}
            {page !== 'home' && <a href={href(page.split('/').map(decodeURIComponent))}>Look</a>}
          </DotItem>
        ))}
      </ul>
    )}
  </Card>
)

/** Unsafe settings, and what to set instead. */
export function Concerns({ of }: { of: NonNullable<Status['concerns']> }) {
  return (
    <Card title="Unsafe, because…">
      <ul class="concerns">
        {of.map(({ key, severity, because, instead }) => (
          <DotItem key={key + because} tone={severity}>
            {because} <code class="soft">{key}</code>
            <div class="soft small">Instead: {instead}</div>
          </DotItem>
        ))}
      </ul>
    </Card>
  )
}

const USES: Readonly<Record<NonNullable<Status['providers']>[number]['use'], string>> = {
  sign_in: 'for sign-in',
  assertions: 'for assertions',
  connections: 'for connections',
}

/** The upstream providers, with the reason why one cannot be used and the last failure of each. */
export function ProviderStates({ of }: { of: NonNullable<Status['providers']> }) {
  return (
    <Card title="Upstream providers">
      <ul class="concerns">
        {of.map(({ slug, use, issuer, issuer_found, usable, keys, reason, since, last_failure, scim }) => (
          <li key={`${use} ${slug}`}>
            <span class={`dot ${usable === false ? 'bad' : 'good'}`} />
            <div>
              <b>{slug}</b> {USES[use]} <code class="soft">{issuer}</code>
              {usable && <div class="soft small">It can be used; it publishes {quantity(keys ?? 0, 'key')}.</div>}
              {usable === false && (
                <div class="small">
                  {since ? (
                    <>
                      Its keys cannot be fetched since <Time at={since} />:{' '}
                    </>
                  ) : (
                    'It cannot be used: '
                  )}
                  <code>{reason ?? 'no keys'}</code>
                  {issuer_found !== undefined && issuer_found !== issuer && (
                    <>
                      . Its metadata names the issuer <code>{issuer_found}</code>
                    </>
                  )}
                </div>
              )}
              {last_failure && (
                <div class="soft small">
                  Last failure <Time at={last_failure.at} />: <code>{last_failure.reason}</code>
                  {last_failure.found !== undefined && (
                    <>
                      , expected <code>{last_failure.expected}</code>, found <code>{last_failure.found}</code>
                    </>
                  )}
                </div>
              )}
              {scim && <Provisioned of={scim} />}
            </div>
          </li>
        ))}
      </ul>
    </Card>
  )
}

/** What a provider manages over SCIM, and its last request. */
const Provisioned = ({ of }: { of: NonNullable<NonNullable<Status['providers']>[number]['scim']> }) => (
  <div class="soft small">
    SCIM: {quantity(of.people, 'person', 'people')} and {quantity(of.groups, 'group')}, with{' '}
    {of.keys.map((name, i) => (
      <>
        {i > 0 && ', '}
        <code>{name}</code>
      </>
    ))}{' '}
    (<a href={href(['api-keys'])}>API keys</a>). Last request <Time at={of.last_call_at} or="never" />.
    {of.last_error !== undefined && of.last_error_at !== undefined && (
      <>
        {' '}
        Last refusal <Time at={of.last_error_at} />: <code>{of.last_error}</code>
      </>
    )}
  </div>
)
