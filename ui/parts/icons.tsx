// The icons.
import type { ComponentChildren } from 'preact'

const Icon = ({ children, ...rest }: { children: ComponentChildren; class?: string }) => (
  <svg
    viewBox="0 0 24 24"
    fill="none"
    stroke="currentColor"
    stroke-width="2"
    stroke-linecap="round"
    stroke-linejoin="round"
    aria-hidden="true"
    {...rest}
  >
    {children}
  </svg>
)

/** A key: the mark of the service. */
export const Mark = () => (
  <Icon class="mark">
    <circle cx="8" cy="16" r="5" />
    <path d="m11.5 12.5 9-9m-4 4 3.5 3.5" />
  </Icon>
)
/** Two sheets: copy. */
export const CopyIcon = () => (
  <Icon>
    <rect x="9" y="9" width="11" height="11" rx="2" />
    <path d="M5 15V6a2 2 0 0 1 2-2h8" />
  </Icon>
)
/** A tick: done. */
export const DoneIcon = () => (
  <Icon>
    <path d="m5 13 4 4L19 7" />
  </Icon>
)
