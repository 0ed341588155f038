// Which operations of the store a request needs: what the caches answer is not among them.
import type { TestService } from './service.ts'

/** The operations that reach the database while `act` runs, in their order. */
export async function storeCalls({ app }: Pick<TestService, 'app'>, act: () => Promise<unknown>): Promise<string[]> {
  const calls: string[] = []
  const { driver } = app.store
  const call = driver.call
  driver.call = (op, ...rest) => {
    calls.push(op)
    return call.call(driver, op, ...rest)
  }
  try {
    await act()
    return calls
  } finally {
    driver.call = call
  }
}
