// A user sets a password with a one-time link, in a real browser. The page has no script.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect } from 'vitest'
import { CHROMIUM, test } from '../support/chromium.ts'
import { addUser } from '../support/service.ts'
import { logIn, newPasswordLink, openWorld, sendPassword, type World } from './scenes.ts'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const NEXT = 'a passphrase of her own'

let world: World
beforeAll(async () => {
  world = await openWorld()
})
afterAll(() => world.close())

const findingsOf = async (page: Page): Promise<string[]> => {
  await page.evaluate(AXE)
  const violations = await page.evaluate<{ id: string }[]>('axe.run().then(({ violations }) => violations)')
  return violations.map(({ id }) => id)
}

describe(`in ${CHROMIUM}`, () => {
  test('a user opens the link, corrects a mistake, sets the password and signs in; axe has no findings on the way', async ({
    open,
  }) => {
    const { page, complaints } = await open()
    const user = await addUser(world.service)
    await page.goto(await newPasswordLink(world, user))
    expect(await page.getByLabel('Email').inputValue()).toBe(user.email)
    expect(await findingsOf(page)).toEqual([])
    await sendPassword(page, NEXT, 'another passphrase')
    expect(await page.getByRole('alert').textContent()).toBe('The two passwords are not the same.')
    expect(await findingsOf(page)).toEqual([])
    await sendPassword(page, NEXT)
    await page.getByRole('heading', { name: 'Your password is set' }).waitFor()
    expect(await findingsOf(page)).toEqual([])
    await page.getByRole('link', { name: 'Sign in' }).click()
    await logIn(page, user.email, NEXT)
    await page.waitForURL(`${world.service.issuer}/account`)
    await page.getByText(user.email).first().waitFor()
    expect(complaints.filter((complaint) => !complaint.includes('422'))).toEqual([])
  })

  test('a used link shows a page that states this, without accessibility findings', async ({ open }) => {
    const { page } = await open()
    const url = await newPasswordLink(world, await addUser(world.service))
    await page.goto(url)
    await sendPassword(page, NEXT)
    await page.goto(url)
    await page.getByRole('heading', { name: 'This link is not valid' }).waitFor()
    expect(await page.getByLabel('New password').count()).toBe(0)
    expect(await findingsOf(page)).toEqual([])
  })
})
