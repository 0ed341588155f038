// What the pages of registry entries have in common: the list with its button for a new one, buttons for editing and deleting, the frame of one entry.
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { call, segment } from '../lib/api.ts'
import { ConfirmButton } from './dialog.tsx'
import type { Pairs } from './field.tsx'
import { FormButton } from './form.tsx'
import { type Column, List, type ListProps } from './list.tsx'
import { Empty, PageHead, ProblemNote } from './text.tsx'
import { say } from './toast.tsx'

/** A number that changes when a list must be read again, and what changes it. */
export const useVersion = (): [version: number, changed: () => void] => {
  const [version, setVersion] = useState(0)
  return [version, () => setVersion((before) => before + 1)]
}

interface EntriesProps<T> extends Omit<ListProps<T>, 'label' | 'empty'> {
  title: string
  /** Of the table, where it is not the title. */
  label?: string
  about: string
  /** The button for a new one: above the list, and where nothing is yet. */
  create: ComponentChildren
  /** Where nothing is yet: that, and what belongs there. */
  none: string
  children: ComponentChildren
}
/** A page that lists entries of one kind and makes new ones. */
export const Entries = <T,>({ title, label = title, about, create, none, children, ...list }: EntriesProps<T>) => (
  <>
    <PageHead title={title} about={about}>
      {create}
    </PageHead>
    <List<T>
      {...list}
      label={label}
      empty={
        <Empty title={none}>
          <p>{children}</p>
          <div class="actions">{create}</div>
        </Empty>
      }
    />
  </>
)

interface EditProps<T> {
  /** Of the button, where the page has several. */
  label?: string
  operation: string
  title: string
  params: Record<string, string>
  stored: object
  fields: readonly string[]
  options?: Record<string, Pairs>
  onChange: (changed: T) => void
}
/** A button that edits what is stored. */
export const EditButton = <T,>({ onChange, ...form }: EditProps<T>) => (
  <FormButton<T>
    label="Edit"
    {...form}
    verb="Save"
    onDone={(changed) => {
      say('Saved.')
      onChange(changed)
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
      say('Deleted.')
      onGone()
    }}
  >
    {children}
  </ConfirmButton>
)

interface RowActions<T> {
  /** What edits a row. Without it rows cannot be edited. */
  edit?: Pick<EditProps<T>, 'operation' | 'title' | 'fields'>
  /** The list of the admin API; a row is below it by its id. */
  path: string
  /** The name of a row in the question before it is deleted. */
  what: (row: T) => string
  /** The effect of a deletion. */
  effect: ComponentChildren
  /** Buttons before these. */
  more?: (row: T) => ComponentChildren
  onChange: () => void
}
/** The column with the buttons of a row. */
export const actionsColumn = <T extends { id: string }>(of: RowActions<T>): Column<T> => ({
  title: 'Actions',
  kind: 'acts',
  cell: (row) => (
    <div class="actions">
      {of.more?.(row)}
      {of.edit && <EditButton {...of.edit} params={{ id: row.id }} stored={row} onChange={of.onChange} />}
      <DeleteButton what={of.what(row)} path={`${of.path}/${segment(row.id)}`} onGone={of.onChange}>
        {of.effect}
      </DeleteButton>
    </div>
  ),
})

/** An entry that is not there yet, or cannot be read. */
export const Pending = ({ title, from, error }: { title: string; from: [string, string]; error?: Error }) => (
  <>
    <PageHead title={title} from={from} />
    <ProblemNote error={error} />
  </>
)
