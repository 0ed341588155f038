// Runs before every test file.
import './key_export.ts'
import { afterAll, vi } from 'vitest'
import { endFile } from './end_of_file.ts'

/** How long a test waits for what happens soon. The default of one second is too short on a busy machine. */
const WAIT_MS = 10_000
const { waitFor } = vi
vi.waitFor = (callback, options) =>
  waitFor(callback, typeof options === 'number' ? options : { timeout: WAIT_MS, ...options })

afterAll(endFile)
