// The page as a whole: the way in, then the navigation and the page that the address names.
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
  onRefusedKey.tell = () => leave('The key is no longer accepted. Somebody may have changed it.')
  useIdle(isIn, () => leave(`Locked after ${IDLE_MINUTES} minutes without a touch.`))
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
      {isIn ? <Shell onForget={() => leave('The key is forgotten.')} /> : <KeyPrompt why={why} onKey={enter} />}
      <Toasts />
    </>
  )
}
