// The wall view: the first page alone, for a screen that stays on.
import { useLoad } from '../lib/load.ts'
import { readOffered } from '../lib/offered.ts'
import type { SignedInOperator } from '../lib/session.ts'
import { Home } from '../pages/home.tsx'
import { AccessContext } from './operation_button.tsx'

/** The first page without the navigation. The session can change nothing, and does not end for want of input. */
export function Wall({ operator, onEnd }: { operator: SignedInOperator; onEnd: () => void }) {
  const offered = useLoad('offered', readOffered)
  return (
    <main class="content">
      <p class="actions wall">
        <span class="soft small">Wall view of {operator.actor_id}: it can change nothing.</span>
        <button type="button" class="quiet" onClick={onEnd}>
          End the wall view
        </button>
      </p>
      <AccessContext.Provider value={{ operator, offered: offered.data }}>
        <Home />
      </AccessContext.Provider>
    </main>
  )
}
