// The import of users on the admin page.
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { okAdmin } from '../support/admin.ts'
import { CHROMIUM, test } from '../support/chromium.ts'
import { tempFile } from '../support/folder.ts'
import { addUser, startService, type TestService } from '../support/service.ts'
import { field, openAdmin, press, rowsOf } from './open.ts'

let service: TestService
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service.close())

const HASH = `$argon2id$v=19$m=1024,t=1,p=1$${'A'.repeat(22)}$${'A'.repeat(43)}`
const emails = async () =>
  (await okAdmin<{ email: string }[]>(service, 'GET', '/admin/users')).map(({ email }) => email)

describe(`in ${CHROMIUM}`, () => {
  test('pasted lines: mistakes are listed by line and nothing is created; a check creates nothing; the import creates the users', async ({
    reopen,
  }) => {
    const known = await addUser(service)
    const { page, complaints } = await openAdmin(reopen, service, 'users')
    await press(page, 'Import users')
    const text = field(page, 'Or paste the lines')
    await text.fill(`{"email":"ada@example.com"}\n{"email":"ADA@example.com"}\nada\n{"email":"${known.email}"}`)
    await press(page, 'Import')
    const mistakes = page.getByRole('list', { name: 'Mistakes' }).getByRole('listitem')
    await mistakes.first().waitFor()
    expect(await mistakes.allInnerTexts()).toEqual([
      'line 3: must be a JSON object',
      'line 2: line 1 has the same email',
      'line 4: a user with this email exists already',
    ])
    await text.fill('{"email":"ada@example.com","groups":["staff"]}\n\n{"email":"no email"}')
    await press(page, 'Check only')
    await page.getByText('line 3: email must be an email address').waitFor()
    expect(await emails()).toEqual([known.email])
    await text.fill('{"email":"ada@example.com","groups":["staff"]}\n')
    await press(page, 'Check only')
    await page.getByText('No mistakes. The import would create 1 user.').waitFor()
    expect(await emails()).toEqual([known.email])
    await press(page, 'Import')
    await page.getByText('Created 1 user.').waitFor()
    await press(page, 'Close')
    await expect.poll(() => rowsOf(page)).toHaveLength(2)
    expect(await okAdmin(service, 'GET', '/admin/users?email=ada@example.com')).toMatchObject([{ groups: ['staff'] }])
    // The browser reports the refused requests.
    expect(complaints.filter((each) => !/40[09]/.test(each))).toEqual([])
  })

  test('a CSV file is imported with its password hashes, and users that exist are skipped on request', async ({
    reopen,
  }) => {
    const known = await addUser(service)
    const { page } = await openAdmin(reopen, service, 'users')
    await press(page, 'Import users')
    const csv = `email,name,groups,password_hash\ngrace@example.com,"Hopper, Grace","ops,staff","${HASH}"\n${known.email},,,\n`
    await field(page, 'File').setInputFiles(tempFile('users.csv', csv))
    await field(page, 'Skip users').check()
    await press(page, 'Import')
    await page.getByText('Created 1 user and skipped 1.').waitFor()
    const grace = await service.app.store.findUserByEmail({ email: 'grace@example.com' })
    expect(grace).toMatchObject({ name: 'Hopper, Grace', operator_groups: ['ops', 'staff'], password_hash: HASH })
  })
})
