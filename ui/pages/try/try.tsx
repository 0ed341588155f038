// Trial operations: request a token as a client would, decode a token, explain access, check an assertion step by step.
import { useState } from 'preact/hooks'
import { useLoad } from '../../lib/load.ts'
import { readOffered } from '../../lib/offered.ts'
import { href, type Location } from '../../lib/router.ts'
import { Empty, PageHead } from '../../parts/text.tsx'
import { MakeAssertion } from './try_client_assertion.tsx'
import { ExplainAccess } from './try_explain.tsx'
import { CheckAssertion, DecodeToken, MintToken } from './try_forms.tsx'

const TABS = [
  { name: 'mint', title: 'Mint a token', needs: 'try.token', show: MintToken },
  { name: 'decode', title: 'Decode a token', needs: 'try.decode', show: DecodeToken },
  { name: 'explain', title: 'Explain access', needs: 'try.explain', show: ExplainAccess },
  { name: 'client-assertion', title: 'Make a client assertion', needs: 'try.token', show: MakeAssertion },
  { name: 'assertion', title: 'Check an ID-JAG', needs: 'try.idJag', show: CheckAssertion },
] as const

/** The trial operations as tabs. */
export function Try({ place: { segments, query } }: { place: Location }) {
  const offered = useLoad('offered', readOffered)
  const [token, setToken] = useState('')
  const tabs = TABS.filter(({ needs }) => offered.data?.has(needs) ?? true)
  const tab = tabs.find(({ name }) => name === (segments[1] ?? 'mint'))
  return (
    <>
      <PageHead
        title="Try it"
        about="Request a token as a client would, decode a token, ask why a user gets access or not, or check an assertion. The audit trail records every trial, without secrets."
      />
      <nav class="tabs" aria-label="What to try">
        {tabs.map(({ name, title }) => (
          <a
            key={name}
            class="button"
            href={href(['try', name])}
            aria-current={name === tab?.name ? 'page' : undefined}
          >
            {title}
          </a>
        ))}
      </nav>
      {tab ? (
        <tab.show token={token} onToken={setToken} asked={query} />
      ) : (
        <Empty title="ID-JAG is disabled">
          <p>Set xaa.enabled in the configuration to accept ID-JAG assertions.</p>
        </Empty>
      )}
    </>
  )
}
