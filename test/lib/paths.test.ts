// Where the files of the package are.
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { migrationsFolder, packageRoot, programFile } from '../../src/lib/paths.ts'

test('the package root contains the package.json of the service', () => {
  expect(JSON.parse(readFileSync(path.join(packageRoot, 'package.json'), 'utf8')).name).toBe('service')
})

test('migrations and built workers are found', () => {
  expect(existsSync(path.join(migrationsFolder, '001_clients_users.sql'))).toBe(true)
  for (const name of ['store', 'crypto', 'password']) expect(existsSync(programFile(name)), name).toBe(true)
})
