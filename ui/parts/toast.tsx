// Shows what was done, to screen readers too.
import { useEffect, useState } from 'preact/hooks'

interface Said {
  id: number
  text: string
}
const SHOWN_MS = 5000
let count = 0
let show: (said: Said) => void = () => {}

/** Shows a message about a completed action. */
export const say = (text: string): void => show({ id: ++count, text })

/** The place of the messages on the page. */
export function Toasts() {
  const [said, setSaid] = useState<Said[]>([])
  useEffect(() => {
    show = (each) => {
      setSaid((before) => [...before, each])
      setTimeout(() => setSaid((before) => before.filter(({ id }) => id !== each.id)), SHOWN_MS)
    }
  }, [])
  return (
    <div class="toasts" role="status">
      {said.map(({ id, text }) => (
        <p key={id}>{text}</p>
      ))}
    </div>
  )
}
