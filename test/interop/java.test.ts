// Libraries in Java: Nimbus, Spring Security of both generations, and the MCP servers built on it.
import { describe, expect, test } from 'vitest'
import { libraryFixture } from './libraries.ts'
import { java } from './toolchain.ts'

const springs = [
  { name: 'Spring Security 6.5', toolchain: await java('Spring.java', 'spring6.xml') },
  { name: 'Spring Security 7.1', toolchain: await java('Spring.java', 'spring7.xml') },
]

describe.each(springs)('$name', ({ toolchain }) => {
  const at = libraryFixture(toolchain)
  const skip = 'missing' in toolchain

  test.skipIf(skip)('the decoder of the guide takes `at+jwt`', async () => {
    const { sub, token } = await at.userToken()
    expect((await at.run('at+jwt', { token })).result).toEqual({ sub, aud: [at.server] })
  })

  test.skipIf(skip)('the decoder of the guide refuses a token of another resource', async () => {
    const { token } = await at.userToken()
    const { result } = await at.run('at+jwt', { token, server: 'https://other.example.com/mcp' })
    expect(result).toMatchObject({ refused: expect.stringContaining('aud') })
  })
})
