import { execFileSync, spawnSync } from 'node:child_process'
import { beforeAll, describe, expect, test } from 'vitest'
import { runHere } from '../support/cli.ts'
import { tempFile } from '../support/folder.ts'

const script = async (shell: string) => {
  const { code, stdout } = await runHere(['completion', shell])
  expect(code).toBe(0)
  return stdout
}

describe('bash', () => {
  let file: string
  beforeAll(async () => {
    file = tempFile('completion.bash', await script('bash'))
  })
  /** The completions of the last word of a line. */
  const offered = (line: string) => {
    const words = ['service', ...line.split(' ')]
    const quoted = words.map((word) => `'${word}'`).join(' ')
    const run = `source ${file}; COMP_WORDS=(${quoted}); COMP_CWORD=${words.length - 1}; _service; printf '%s\\n' "\${COMPREPLY[@]}"`
    return execFileSync('bash', ['-c', run], { encoding: 'utf8' }).split('\n').filter(Boolean)
  }

  test.each([
    ['', ['serve', 'admin', 'completion', '--config']],
    ['pu', ['purge']],
    ['admin cl', ['client']],
    ['admin client r', ['rotate-secret']],
    ['admin client create --red', ['--redirect-uris']],
    ['admin client list --limit 5 --st', ['--status']],
    ['admin client list --status ', ['active', 'suspended']],
    ['--json admin dcr set --mode a', ['approved_redirects', 'admin_only']],
    ['admin resource policy ', ['exchange', 'runtime', 'connect']],
    ['admin user create --password-f', ['--password-file']],
  ])('completes `%s` with %j', (line, words) => {
    expect(offered(line)).toEqual(expect.arrayContaining(words))
  })

  test('completion offers only words with the typed prefix', () => {
    expect(offered('admin user cr')).toEqual(['create'])
    expect(offered('admin user create --nothing')).toEqual([])
  })

  test('the completion script has no syntax errors', () => {
    expect(spawnSync('bash', ['-n', file]).status).toBe(0)
  })
})

test.each(['zsh', 'fish'])('the script for %s has every command and flag', async (shell) => {
  const text = await script(shell)
  for (const word of ["'service admin client create'", 'rotate-secret', '--redirect-uris']) expect(text).toContain(word)
})
