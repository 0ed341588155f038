// The parts of undici that the HTTP client uses. Its entry point loads fetch, WebSocket, caches and mocks in addition.
declare module 'undici/lib/dispatcher/client.js' {
  export { Client as default } from 'undici'
}
declare module 'undici/lib/core/connect.js' {
  export { buildConnector as default } from 'undici'
}
declare module 'undici/lib/api/api-request.js' {
  import type { Client, Dispatcher } from 'undici'
  export default function request(this: Client, options: Dispatcher.RequestOptions): Promise<Dispatcher.ResponseData>
}
