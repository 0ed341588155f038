// Locks the page when it is idle, because an unattended screen can be used by others.
import { useEffect, useRef } from 'preact/hooks'

/** Minutes without activity after which the key is removed. */
export const IDLE_MINUTES = 15
const CHECK_MS = 5000

/** Calls `lock` when the page had no input for too long, also while the machine slept. */
export function useIdle(active: boolean, lock: () => void): void {
  const latest = useRef(lock)
  latest.current = lock
  useEffect(() => {
    if (!active) return
    let touchedMs = Date.now()
    const touch = () => {
      touchedMs = Date.now()
    }
    const events = ['pointerdown', 'keydown', 'wheel'] as const
    for (const event of events) addEventListener(event, touch, { passive: true })
    const timer = setInterval(() => Date.now() - touchedMs > IDLE_MINUTES * 60_000 && latest.current(), CHECK_MS)
    return () => {
      for (const event of events) removeEventListener(event, touch)
      clearInterval(timer)
    }
  }, [active])
}
