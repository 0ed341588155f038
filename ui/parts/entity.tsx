// What the pages of items have in common: the list with its create button, the edit and delete buttons, and the page of an item that is loading.
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { RESTORABLE_DAYS } from '../../src/records/client.ts'
import { call, segment } from '../lib/api.ts'
import { useGet } from '../lib/load.ts'
import { href } from '../lib/router.ts'
import { dayOf } from '../lib/zone.ts'
import { ChangedContext } from './changed.ts'
import { ConfirmButton } from './dialog.tsx'
import { FormButton, type FormButtonProps } from './forms/form.tsx'
import type { Pairs } from './forms/values.ts'
import { type Column, List, type ListProps } from './list.tsx'
import { Card, Empty, PageHead, ProblemNote, type Way, Ways } from './text.tsx'
import { say } from './toast.tsx'
import { RevocationToll } from './toll.tsx'

interface EntriesProps<T> extends Omit<ListProps<T>, 'label' | 'empty' | 'version'> {
  title: string
  /** The label of the table. Default: the title. */
  label?: string
  about: ComponentChildren
  /** The link back. */
  from?: Way
  /** The form that creates an item. Its button is above the list, and on the empty list. */
  create?: FormButtonProps<never>
  /** Buttons beside it. */
  beside?: ComponentChildren
  /** Further buttons above the list. */
  more?: ComponentChildren
  /** The title of the empty list. */
  none: string
  children: ComponentChildren
}
/** A page that lists the items of one kind, with a create button. After a change it reads the list again. */
export function Entries<T>(props: EntriesProps<T>) {
  const { title, label = title, about, from, create, beside, more, none, children, ...list } = props
  const [version, setVersion] = useState(0)
  const buttons = create && (
    <>
      {beside}
      <FormButton {...create} />
    </>
  )
  return (
    <ChangedContext.Provider value={() => setVersion((before) => before + 1)}>
      <PageHead title={title} about={about} from={from}>
        {more}
        {buttons}
      </PageHead>
      <List<T>
        {...list}
        version={version}
        label={label}
        empty={
          <Empty title={none}>
            <p>{children}</p>
            {buttons && <div class="actions">{buttons}</div>}
          </Empty>
        }
      />
    </ChangedContext.Provider>
  )
}

interface EditProps<T> {
  /** The label of the button, if the page has several. */
  label?: string
  operation: string
  title: string
  params: Record<string, string>
  stored: object
  fields: readonly string[]
  options?: Record<string, Pairs>
  onChange?: (changed: T) => void
}
/** A button that opens the form of a stored item. */
export const EditButton = <T,>({ onChange, ...form }: EditProps<T>) => (
  <FormButton<T>
    label="Edit"
    {...form}
    verb="Save"
    onDone={(changed) => {
      say('Saved.')
      onChange?.(changed)
    }}
  />
)

interface DeleteProps {
  operation: string
  what: string
  path: string
  /** The user must type this word first. */
  word?: string
  /** Tokens that the deletion revokes, as the criteria of a revocation. They are counted first. */
  revokes?: object
  /** Default: what the button is in is read again. */
  onGone?: () => void
  children: ComponentChildren
}
/** A button that deletes an item after a confirmation. */
export const DeleteButton = ({ operation, what, path, word, revokes, onGone, children }: DeleteProps) => (
  <ConfirmButton
    operation={operation}
    label="Delete"
    title={`Delete ${what}?`}
    word={word}
    run={() => call('DELETE', path)}
    said="Deleted."
    after={onGone}
  >
    {children}
    {revokes && (
      <p>
        Revoked with it: <RevocationToll of={revokes} />.
      </p>
    )}
  </ConfirmButton>
)

/** The last sentence of a confirmation. */
export const Restorable = ({ without }: { without: string }) => (
  <p>
    Until {dayOf(Date.now() + RESTORABLE_DAYS * 86_400_000)} it can be restored, without {without}.
  </p>
)

/** A link to what was deleted, beside the buttons of a list. */
export const DeletedLink = ({ kind }: { kind: 'client' | 'resource' }) => (
  <a class="button" href={href(['deleted'], { kind })}>
    Deleted
  </a>
)

interface RowActions<T> {
  /** The form that edits a row. Without it rows cannot be edited. */
  edit?: Pick<EditProps<T>, 'operation' | 'title' | 'fields'>
  /** The operation that deletes a row. */
  remove: string
  /** The path of the list in the admin API. The path of a row is this path and its id. */
  path: string
  /** The name of a row in the confirmation of its deletion. */
  what: (row: T) => string
  /** The effect of a deletion. */
  effect: ComponentChildren
  /** Further buttons, before edit and delete. */
  more?: (row: T) => ComponentChildren
}
/** The column with the buttons of a row. */
export const actionsColumn = <T extends { id: string }>(of: RowActions<T>): Column<T> => ({
  title: 'Actions',
  kind: 'acts',
  cell: (row) => (
    <div class="actions">
      {of.more?.(row)}
      {of.edit && <EditButton {...of.edit} params={{ id: row.id }} stored={row} />}
      <DeleteButton operation={of.remove} what={of.what(row)} path={`${of.path}/${segment(row.id)}`}>
        {of.effect}
      </DeleteButton>
    </div>
  ),
})

interface ItemProps<T> {
  /** The title while the item is loading. */
  title: string
  path: string
  from: Way
  children: (item: T) => ComponentChildren
}
/** The page of an item, which reads the item again after a change. */
export function ItemPage<T>({ path, children, ...pending }: ItemProps<T>) {
  const { data, error, reload } = useGet<T>(path)
  if (!data) return <Pending {...pending} error={error} />
  return (
    <ChangedContext.Provider value={reload}>
      <div class="stack">{children(data)}</div>
    </ChangedContext.Provider>
  )
}

/** The other pages about an item. */
export const RelatedPages = ({ of }: { of: readonly Way[] }) => (
  <Card title="Related pages">
    <div class="body actions">
      <Ways of={of} />
    </div>
  </Card>
)

/** The page of an item that is loading, or that cannot be read. */
export const Pending = ({ title, from, error }: { title: string; from: Way; error?: Error }) => (
  <>
    <PageHead title={title} from={from} />
    <ProblemNote error={error} />
  </>
)
