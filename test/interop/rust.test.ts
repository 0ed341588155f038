// Clients in Rust: the official SDK, and the libraries that Rust programs use.
import { decodeJwt } from 'jose'
import { describe, expect, test } from 'vitest'
import { libraryFixture } from './libraries.ts'
import { rust } from './toolchain.ts'

const toolchain = await rust()

describe.skipIf('missing' in toolchain)('Rust libraries', () => {
  const at = libraryFixture(toolchain)

  test('oauth2 5.0 gets a token of a machine', async () => {
    const { client_id, client_secret } = at.machine
    const { result } = await at.run('oauth2', { client_id, client_secret })
    expect(decodeJwt(String((result as { access_token: string }).access_token)).aud).toEqual([at.server])
  })
})
