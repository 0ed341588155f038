// The whole page: the prompt for the key, then the navigation and the page of the address.
import { useCallback, useEffect, useState } from 'preact/hooks'
import { call, forgetKey, onRefusedKey, storedKey, storeKey } from './lib/api.ts'
import { IDLE_MINUTES, useIdle } from './lib/idle.ts'
import { followLinks } from './lib/router.ts'
import { KeyPrompt } from './parts/key_prompt.tsx'
import { Shell } from './parts/shell.tsx'
import { Toasts } from './parts/toast.tsx'

/** The whole page. */
export function AdminPage() {
  const [isIn, setIn] = useState(storedKey() !== undefined)
  const [why, setWhy] = useState<string>()

  const leave = useCallback((reason?: string) => {
    forgetKey()
    setWhy(reason)
    setIn(false)
  }, [])
  onRefusedKey.tell = () => leave('The server no longer accepts the key. It may have been changed.')
  useIdle(isIn, () => leave(`Locked after ${IDLE_MINUTES} minutes without activity.`))
  useEffect(() => {
    document.addEventListener('click', followLinks)
    return () => document.removeEventListener('click', followLinks)
  }, [])

  const enter = async (key: string) => {
    storeKey(key)
    try {
      await call('POST', '/admin/auth/verify')
      setWhy(undefined)
      setIn(true)
    } catch (error) {
      forgetKey()
      throw error
    }
  }
  return (
    <>
      {isIn ? (
        <Shell onForget={() => leave('The key was removed from this tab.')} />
      ) : (
        <KeyPrompt why={why} onKey={enter} />
      )}
      <Toasts />
    </>
  )
}
