// Loads data of the API into a component: the answer, the error, and a reload.
import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { get, type QueryParams, withQuery } from './api.ts'

export interface LoadedAnswer<T> {
  data?: T
  /** When the data was read (epoch milliseconds). With an error, the data of a repeated read is the last that arrived. */
  readAt?: number
  error?: Error
  /** A read is under way. */
  busy: boolean
  reload(): void
}

/** Reads when `key` changes and on request; the previous answer stays visible meanwhile. `everyMs` repeats the read while the tab is visible. */
export function useLoad<T>(key: string, read: () => Promise<T>, everyMs?: number): LoadedAnswer<T> {
  const [state, setState] = useState<Omit<LoadedAnswer<T>, 'reload'>>({ busy: true })
  const latest = useRef({ turn: 0, read, repeats: false })
  latest.current.read = read
  latest.current.repeats = everyMs !== undefined

  const reload = useCallback(() => {
    const turn = ++latest.current.turn
    setState((before) => ({ ...before, busy: true }))
    const finish = (outcome: { data?: T; error?: Error }) => {
      if (turn !== latest.current.turn) return
      const isKept = outcome.error && latest.current.repeats
      setState(({ data, readAt }) => ({
        busy: false,
        ...(isKept ? { data, readAt } : { readAt: Date.now() }),
        ...outcome,
      }))
    }
    latest.current.read().then(
      (data) => finish({ data }),
      (error: Error) => finish({ error }),
    )
  }, [])

  useEffect(reload, [key])
  useEffect(() => {
    if (everyMs === undefined) return
    const timer = setInterval(() => document.visibilityState === 'visible' && reload(), everyMs)
    return () => clearInterval(timer)
  }, [everyMs])
  return { ...state, reload }
}

/** Reads a path of the admin API. */
export const useGet = <T>(path: string, query?: QueryParams, everyMs?: number): LoadedAnswer<T> =>
  useLoad(withQuery(path, query), () => get<T>(path, query), everyMs)
