// Buttons for operations of the admin API. A button is disabled, with the reason, when the operator lacks the capability of its operation.
import { type ComponentProps, createContext } from 'preact'
import { useContext } from 'preact/hooks'
import { includesCapability } from '../../src/records/api_key.ts'
import type { ApiOperations } from '../lib/schema.ts'
import type { SignedInOperator } from '../lib/session.ts'

/** Who is signed in, and the operations of the server as soon as they are read. */
export const AccessContext = createContext<{ operator?: SignedInOperator; operations?: ApiOperations }>({})

/** Why the operator may not call an operation. Undefined if it is allowed or not known yet: the server decides in any case. */
function useRefusal(operation: string): string | undefined {
  const { operator, operations } = useContext(AccessContext)
  const needed = operations?.get(operation)?.capability
  if (!operator || !needed || includesCapability(operator.capability, needed)) return undefined
  return `This needs the capability ${needed}. You have ${operator.capability}.`
}

/** A button for an operation such as `client.create`. */
export function OperationButton({
  operation,
  disabled,
  title,
  ...button
}: ComponentProps<'button'> & { operation: string }) {
  const refusal = useRefusal(operation)
  return <button type="button" {...button} disabled={disabled || refusal !== undefined} title={refusal ?? title} />
}
