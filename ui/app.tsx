// The whole page: the sign-in, then the navigation and the page of the address.
import { useCallback, useEffect, useState } from 'preact/hooks'
import { onRefusedSession } from './lib/api.ts'
import { keepForms, restoreForms } from './lib/drafts.ts'
import { IDLE_MINUTES, useIdle } from './lib/idle.ts'
import { followLinks, go } from './lib/router.ts'
import {
  enterKey,
  type PageSession,
  readPageSession,
  type SignedInOperator,
  signOut,
  startWall,
  takePlace,
} from './lib/session.ts'
import { Gate } from './parts/gate.tsx'
import { Shell } from './parts/shell.tsx'
import { Toasts } from './parts/toast.tsx'
import { Wall } from './parts/wall.tsx'

/** The whole page. */
export function AdminPage() {
  const [session, setSession] = useState<PageSession>()
  const [why, setWhy] = useState<string>()
  const operator = session?.operator

  const close = useCallback((reason: string) => {
    setWhy(reason)
    setSession((before) => ({ providers: before?.providers ?? [] }))
  }, [])
  const leave = (reason: string) => {
    void signOut()
    close(reason)
  }
  /** The session ended before the work in forms did. The work waits for the same operator. */
  const lock = (reason: string) => {
    if (operator) keepForms(operator.actor_id)
    close(reason)
  }
  const begin = (read: PageSession) => {
    const place = takePlace()
    if (read.operator) restoreForms(read.operator.actor_id)
    if (read.operator && place) go(place, { replace: true })
    setSession(read)
  }
  onRefusedSession.tell = () => operator && lock('You are no longer signed in: the session or your access has ended.')
  const secondsLeft = useIdle(operator !== undefined && !operator.wall, () => {
    void signOut()
    lock(`Locked after ${IDLE_MINUTES} minutes without activity.`)
  })
  useEffect(() => {
    readPageSession().then(begin, (error: Error) => close(error.message))
    document.addEventListener('click', followLinks)
    return () => document.removeEventListener('click', followLinks)
  }, [])

  const show = (entered: SignedInOperator) => {
    setWhy(undefined)
    setSession((before) => ({ providers: before?.providers ?? [], operator: entered }))
  }
  const enter = async (key: string) => {
    const entered = await enterKey(key)
    restoreForms(entered.actor_id)
    show(entered)
  }
  if (!session) return null
  return (
    <>
      {operator?.wall ? (
        <Wall operator={operator} onEnd={() => leave('The wall view has ended.')} />
      ) : operator ? (
        <Shell
          operator={operator}
          onSignOut={() => leave('You have signed out.')}
          onWall={async () => show(await startWall())}
        />
      ) : (
        <Gate why={why} providers={session.providers} onKey={enter} />
      )}
      {operator && secondsLeft !== undefined && <IdleWarning seconds={secondsLeft} />}
      <Toasts />
    </>
  )
}

/** Any input ends it, also the press of its button. */
const IdleWarning = ({ seconds }: { seconds: number }) => (
  <div class="toasts" role="alert">
    <p>
      Without activity you are signed out in {seconds} seconds. <button type="button">Stay signed in</button>
    </p>
  </div>
)
