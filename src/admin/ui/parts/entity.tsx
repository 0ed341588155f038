// What the pages of registry entries have in common: buttons for editing and deleting, and the frame of one entry.
import type { ComponentChildren } from 'preact'
import { call } from '../lib/api.ts'
import { ConfirmButton } from './dialog.tsx'
import { FormButton } from './form.tsx'
import { Head, Problem } from './text.tsx'
import { say } from './toast.tsx'

type Pairs = readonly (readonly [value: string, text: string])[]

interface EditProps {
  operation: string
  title: string
  params: Record<string, string>
  stored: object
  fields: readonly string[]
  options?: Record<string, Pairs>
  onChange: () => void
}
/** A button that edits what is stored. */
export const EditButton = ({ onChange, ...form }: EditProps) => (
  <FormButton
    {...form}
    label="Edit"
    verb="Save"
    onDone={() => {
      say('Saved.')
      onChange()
    }}
  />
)

interface DeleteProps {
  what: string
  path: string
  onGone: () => void
  children: ComponentChildren
}
/** A button that deletes after it asked. */
export const DeleteButton = ({ what, path, onGone, children }: DeleteProps) => (
  <ConfirmButton
    label="Delete"
    verb="Delete"
    title={`Delete ${what}?`}
    run={() => call('DELETE', path)}
    after={() => {
      say('It is deleted.')
      onGone()
    }}
  >
    {children}
  </ConfirmButton>
)

/** An entry that is not there yet, or cannot be read. */
export const Pending = ({ title, from, error }: { title: string; from: [string, string]; error?: Error }) => (
  <>
    <Head title={title} from={from} />
    <Problem error={error} />
  </>
)
