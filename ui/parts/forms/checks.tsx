// Boxes to check.
import type { Pairs } from './values.ts'

interface ChecksProps {
  options: Pairs
  value: string
  onValue: (value: string) => void
}

/** One box for each of the options. The value contains the checked ones, one on each line. */
export function Checks({ options, value, onValue }: ChecksProps) {
  const chosen = value.split('\n').filter(Boolean)
  const toggle = (each: string) =>
    onValue((chosen.includes(each) ? chosen.filter((one) => one !== each) : [...chosen, each]).join('\n'))
  // A stored value stays, even if it is not among the options.
  const all = [
    ...options,
    ...chosen.filter((each) => !options.some(([value]) => value === each)).map((each) => [each, each] as const),
  ]
  return (
    <div class="checks">
      {all.map(([each, shown]) => (
        <label key={each}>
          <input type="checkbox" checked={chosen.includes(each)} onInput={() => toggle(each)} />
          {shown}
        </label>
      ))}
    </div>
  )
}
