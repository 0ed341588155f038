// Keys in a folder: file modes, and the visibility of changes between processes.
import { execFile } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  readdirSync,
  readFileSync,
  statSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { keyfileStore } from '../../src/crypto/keyfile.ts'
import { type KeyStore, type StoredKey, storedKeys } from '../../src/crypto/stored_keys.ts'
import { packageRoot } from '../../src/lib/paths.ts'
import { systemClock } from '../../src/lib/time.ts'
import { tempFolder } from '../support/folder.ts'
import { pause } from '../support/wire.ts'

const key = (kid: string, more: Partial<StoredKey> = {}): StoredKey => ({
  kid,
  alg: 'ES256',
  pem: `-----BEGIN PRIVATE KEY-----\n${kid}\n-----END PRIVATE KEY-----\n`,
  created_at: 1,
  ...more,
})
const newFolder = () => path.join(tempFolder(), 'data/keys')
const mode = (file: string) => (statSync(file).mode & 0o777).toString(8)

describe('the folder', () => {
  test('the folder and its files are created with access for the owner only', async () => {
    const folder = newFolder()
    await keyfileStore(folder).change(() => [key('a'), key('b')])
    expect(mode(folder)).toBe('700')
    expect(readdirSync(folder).sort()).toEqual(['a.pem', 'b.pem', 'keys.json'])
    for (const file of readdirSync(folder)) expect(mode(path.join(folder, file)), file).toBe('600')
  })

  test('a folder that others can read is restricted to the owner', async () => {
    const folder = tempFolder()
    chmodSync(folder, 0o755)
    await keyfileStore(folder).change(() => [key('a')])
    expect(mode(folder)).toBe('700')
  })

  test('an empty or missing folder has no keys, and reading does not create it', async () => {
    const folder = newFolder()
    expect(await keyfileStore(folder).load()).toEqual([])
    expect(existsSync(folder)).toBe(false)
  })
})

describe('changes', () => {
  test('written keys are read back in order by another store of the folder', async () => {
    const folder = newFolder()
    const keys = [key('a', { retired_at: 5, remove_at: 9 }), key('b')]
    expect(await keyfileStore(folder).change(() => keys)).toEqual(keys)
    expect(await keyfileStore(folder).load()).toEqual(keys)
  })

  test('a change receives the current keys, and the file of a removed key is deleted', async () => {
    const folder = newFolder()
    const store = keyfileStore(folder)
    await store.change(() => [key('a'), key('b')])
    await store.change((before) => before.filter(({ kid }) => kid !== 'a'))
    expect((await store.load()).map(({ kid }) => kid)).toEqual(['b'])
    expect(existsSync(path.join(folder, 'a.pem'))).toBe(false)
  })

  test('the index contains no key material', async () => {
    const folder = newFolder()
    await keyfileStore(folder).change(() => [key('a')])
    expect(readFileSync(path.join(folder, 'keys.json'), 'utf8')).not.toContain('PRIVATE')
  })

  test('a change that fails writes nothing, and the next change succeeds', async () => {
    const folder = newFolder()
    const store = keyfileStore(folder)
    await store.change(() => [key('a')])
    const failing = store.change(() => {
      throw new Error('no')
    })
    await expect(failing).rejects.toThrow('no')
    expect((await store.load()).map(({ kid }) => kid)).toEqual(['a'])
    await store.change((before) => [...before, key('b')])
    expect((await store.load()).map(({ kid }) => kid)).toEqual(['a', 'b'])
  })

  test('an unreadable index is an error, not an empty store', async () => {
    const folder = newFolder()
    const store = keyfileStore(folder)
    await store.change(() => [key('a')])
    writeFileSync(path.join(folder, 'keys.json'), '{"keys":[')
    await expect(store.load()).rejects.toThrow()
    await expect(store.change((before) => before)).rejects.toThrow()
  })

  test('a key whose file is missing is an error', async () => {
    const folder = newFolder()
    const store = keyfileStore(folder)
    await store.change(() => [key('a')])
    unlinkSync(path.join(folder, 'a.pem'))
    await expect(store.load()).rejects.toThrow('a.pem')
  })
})

describe('several processes', () => {
  test('a change waits for the process that has the lock', async () => {
    const folder = newFolder()
    const store = keyfileStore(folder)
    await store.change(() => [key('a')])
    const lock = path.join(folder, 'keys.lock')
    writeFileSync(lock, '')
    let done = false
    const change = store
      .change((before) => [...before, key('b')])
      .then(() => {
        done = true
      })
    await pause(100)
    expect(done).toBe(false)
    unlinkSync(lock)
    await change
    expect((await store.load()).length).toBe(2)
  })

  test('the lock of a dead process is taken over', async () => {
    const folder = newFolder()
    const store = keyfileStore(folder)
    await store.change(() => [key('a')])
    const lock = path.join(folder, 'keys.lock')
    writeFileSync(lock, '')
    const longAgo = Date.now() / 1000 - 60
    utimesSync(lock, longAgo, longAgo)
    await store.change((before) => [...before, key('b')])
    expect((await store.load()).length).toBe(2)
    expect(existsSync(lock)).toBe(false)
  })

  // A process that rotates ten times; its keys are deleted `longestLife` seconds after they were replaced.
  const rotateElsewhere = async (folder: string, longestLife: number) => {
    const built = (file: string) => JSON.stringify(path.join(packageRoot, 'dist/src', file))
    const script = `
      import { openKeyring } from ${built('crypto/keyring.js')}
      import { keyfileStore } from ${built('crypto/keyfile.js')}
      import { storedKeys } from ${built('crypto/stored_keys.js')}
      import { systemClock as clock } from ${built('lib/time.js')}
      const ring = await openKeyring({ source: storedKeys({ store: keyfileStore(process.argv[1]), alg: 'ES256', longestLife: ${longestLife}, clock, log: console }), clock })
      // Where keys are removed at once, the next key of a rotation may be gone: a conflict, as documented.
      const rotate = () => ring.rotate().catch((error) => (error.code === 'conflict' ? rotate() : Promise.reject(error)))
      const kids = []
      for (let i = 0; i < 10; i++) kids.push((await rotate()).current_kid)
      console.log(JSON.stringify(kids))`
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script, folder])
    return JSON.parse(stdout) as string[]
  }

  test('two processes that rotate concurrently lose no key, and one key is current', async () => {
    const folder = newFolder()
    const rotated = (await Promise.all([1, 2].map(() => rotateElsewhere(folder, 3600)))).flat()
    const keys = await keyfileStore(folder).load()
    // Concurrent rotations are combined into one.
    expect(keys.length).toBe(1 + new Set(rotated).size + 1)
    expect(keys.map(({ kid }) => kid)).toEqual(expect.arrayContaining(rotated))
    expect(keys.filter((each) => each.retired_at === undefined).map(({ next }) => next)).toEqual([undefined, true])
  })

  test('a rotation during which another process rotates twice rotates no further, and creates no duplicate key', async () => {
    const store = keyfileStore(newFolder())
    const options = { alg: 'ES256', longestLife: 3600, clock: systemClock, log: { warn: () => {} } } as const
    const other = storedKeys({ ...options, store })
    await other.load()
    let changes = 0
    // The first change of a rotation reads the next key, the second one promotes it.
    const between: KeyStore = {
      ...store,
      change: async (decide) => {
        if (++changes === 2) for (let i = 0; i < 2; i++) await other.rotate()
        return store.change(decide)
      },
    }
    const kids = (await storedKeys({ ...options, store: between }).rotate()).map(({ kid }) => kid)
    expect(changes).toBe(2)
    expect(new Set(kids).size).toBe(4)
    expect(kids).toHaveLength(4)
  })

  test('a reader sees consistent keys while other processes create the first keys and remove old ones', async () => {
    const folder = newFolder()
    const store = keyfileStore(folder)
    let over = false
    // Removed as soon as they are replaced: 60 is the maximum clock difference.
    const rotations = Promise.all([1, 2].map(() => rotateElsewhere(folder, -60))).finally(() => {
      over = true
    })
    const found = new Set<number>()
    for (; !over; await pause(0)) found.add((await store.load()).length)
    expect((await rotations).flat()).toHaveLength(20)
    expect([...found].sort()).toEqual([0, 2])
  })

  test('the remains of a process that died while it created the first keys do not prevent the next start', async () => {
    const folder = newFolder()
    const store = keyfileStore(folder)
    // The second one cannot be written.
    await expect(store.change(() => [key('a'), key('missing/b')])).rejects.toThrow('ENOENT')
    expect(existsSync(path.join(folder, 'a.pem'))).toBe(true)
    expect(await store.load()).toEqual([])
    await store.change(() => [key('c')])
    expect((await store.load()).map(({ kid }) => kid)).toEqual(['c'])
  })
})
