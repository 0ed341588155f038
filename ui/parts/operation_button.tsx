// Buttons for operations of the admin API. A button is disabled, with the reason, when the operator lacks the capability of its operation.
import { type ComponentProps, createContext } from 'preact'
import { useContext, useId } from 'preact/hooks'
import { includesCapability } from '../../src/records/api_key.ts'
import type { OfferedOperations } from '../lib/offered.ts'
import type { SignedInOperator } from '../lib/session.ts'
import { say } from './toast.tsx'

/** Who is signed in, and the operations of the server as soon as they are read. */
export const AccessContext = createContext<{ operator?: SignedInOperator; offered?: OfferedOperations }>({})

/** Why the operator may not call an operation. Undefined if it is allowed or not known yet: the server decides in any case. */
function useRefusal(operation: string): string | undefined {
  const { operator, offered } = useContext(AccessContext)
  const needed = offered?.get(operation)
  if (!operator || !needed || includesCapability(operator.capability, needed)) return undefined
  return `This needs the capability ${needed}. You have ${operator.capability}.`
}

type ButtonProps = ComponentProps<'button'> & { operation: string }

/** A button for an operation such as `client.create`. The keyboard reaches a disabled one too, and pressing it shows the reason. */
export function OperationButton({ operation, disabled, title, onClick, ...button }: ButtonProps) {
  const id = useId()
  const refusal = useRefusal(operation) ?? (disabled && typeof title === 'string' ? title : undefined)
  if (refusal === undefined)
    return <button type="button" {...button} disabled={disabled} title={title} onClick={onClick} />
  return (
    <>
      <button
        {...button}
        type="button"
        aria-disabled
        aria-describedby={id}
        title={refusal}
        onClick={() => say(refusal)}
      />
      <span id={id} hidden>
        {refusal}
      </span>
    </>
  )
}
