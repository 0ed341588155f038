// Locks the page when it is idle, because an unattended screen can be used by others.
import { useEffect, useRef, useState } from 'preact/hooks'

/** Minutes without activity after which the session ends. */
export const IDLE_MINUTES = 15
const CHECK_MS = 5000
/** Seconds before the end in which the page warns. */
const WARNING_SECONDS = 60

/**
 * Calls `lock` when no tab of the page had input for too long, also while the machine slept. Tabs share one session. Returns the seconds that
 * are left in the last minute, otherwise undefined.
 */
export function useIdle(active: boolean, lock: () => void): number | undefined {
  const [left, setLeft] = useState<number>()
  const latest = useRef(lock)
  latest.current = lock
  useEffect(() => {
    if (!active) return
    const tabs = new BroadcastChannel('service.admin')
    let touchedMs = Date.now()
    let toldMs = 0
    const note = () => {
      touchedMs = Date.now()
      setLeft(undefined)
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
    const look = () => {
      const seconds = IDLE_MINUTES * 60 - Math.floor((Date.now() - touchedMs) / 1000)
      if (seconds < 0) latest.current()
      setLeft(seconds < 0 || seconds > WARNING_SECONDS ? undefined : seconds)
    }
    const timer = setInterval(look, CHECK_MS)
    return () => {
      for (const event of events) removeEventListener(event, touch)
      clearInterval(timer)
      tabs.close()
    }
  }, [active])
  return left
}
