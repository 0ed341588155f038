// Which kinds of password hashes are stored.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { exampleOf } from '../../src/crypto/password_hash.ts'
import { findPasswordKinds, notePasswordKinds } from '../../src/oauth/sign_in/password_kinds.ts'
import { okAdmin } from '../support/admin.ts'
import { addUser, startService, type TestService } from '../support/service.ts'

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

const kinds = () =>
  Promise.all(['argon2id', 'bcrypt'].map((name) => service.app.store.findSetting({ name: `password_kind_${name}` })))
const importOf = (...wanted: string[]) =>
  okAdmin(service, 'POST', '/admin/users/import', {
    users: wanted.map((kind) => ({
      email: `${kind.replaceAll(' ', '-')}@example.com`,
      password_hash: exampleOf(kind),
    })),
  })

test('of many kinds the costliest of each function is kept, also when imports run at once', async () => {
  expect(await kinds()).toEqual(['', ''])
  await Promise.all([
    importOf('bcrypt 10', 'bcrypt 04'),
    importOf('bcrypt 12'),
    importOf(...Array.from({ length: 200 }, (_, i) => `argon2id ${8000 + i} 2`)),
    importOf('argon2id 9000 3'),
  ])
  expect(await kinds()).toEqual(['000000027000 argon2id 9000 3', '000000000012 bcrypt 12'])
})

test('the start finds the kinds in the users, and those without users end', async () => {
  await addUser(service)
  const { store, clock } = service.app
  await notePasswordKinds({ store, clock }, [exampleOf('bcrypt 14')])
  expect((await kinds())[1]).toBe('000000000014 bcrypt 14')
  await findPasswordKinds({ store, clock })
  expect(await kinds()).toEqual(['000000027000 argon2id 9000 3', '000000000012 bcrypt 12'])
})
