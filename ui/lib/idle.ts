// Locks the page when it is idle, because an unattended screen can be used by others.
import { useEffect, useRef } from 'preact/hooks'

/** Minutes without activity after which the session ends. */
export const IDLE_MINUTES = 15
const CHECK_MS = 5000

/** Calls `lock` when no tab of the page had input for too long, also while the machine slept. Tabs share one session. */
export function useIdle(active: boolean, lock: () => void): void {
  const latest = useRef(lock)
  latest.current = lock
  useEffect(() => {
    if (!active) return
    const tabs = new BroadcastChannel('service.admin')
    let touchedMs = Date.now()
    let toldMs = 0
    const note = () => {
      touchedMs = Date.now()
    }
    const touch = () => {
      note()
      if (touchedMs - toldMs < CHECK_MS) return
      toldMs = touchedMs
      tabs.postMessage('active')
    }
    tabs.onmessage = note
    const events = ['pointerdown', 'keydown', 'wheel'] as const
    for (const event of events) addEventListener(event, touch, { passive: true })
    const timer = setInterval(() => Date.now() - touchedMs > IDLE_MINUTES * 60_000 && latest.current(), CHECK_MS)
    return () => {
      for (const event of events) removeEventListener(event, touch)
      clearInterval(timer)
      tabs.close()
    }
  }, [active])
}
