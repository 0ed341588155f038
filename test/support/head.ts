// Requests as plain values, in the form that an engine passes on.

import type { Request, RequestHead } from '../../src/http/message.ts'
import { newId } from '../../src/lib/id.ts'

/** The head of a request; by default GET /. */
export const head = (more: Partial<RequestHead> = {}): RequestHead => ({
  method: 'GET',
  path: '/',
  query: '',
  repeated: [],
  remote: '192.0.2.1',
  ...more,
  headers: { host: 'auth.example.com', ...more.headers },
})

/** A whole request with a body. */
export const request = (body: string | Buffer = '', more: Partial<Request> = {}): Request => ({
  ...head({ method: 'POST', ...more }),
  id: newId(),
  body: Buffer.from(body),
  params: more.params ?? {},
  startedMs: performance.now(),
  notes: {},
})
