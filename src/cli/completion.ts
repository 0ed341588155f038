// Completion scripts for shells, generated from the tree of commands. They do not call the binary.
import type { Command } from 'commander'

export const SHELLS = ['bash', 'zsh', 'fish'] as const
type Shell = (typeof SHELLS)[number]

/** Whether completion exists for a shell. */
export const isShell = (name: string): name is Shell => (SHELLS as readonly string[]).includes(name)

/** The words that may follow a path of commands, or a flag with fixed values: `service admin dcr set --mode`. */
type Words = ReadonlyMap<string, readonly string[]>

/** The script for a shell. */
export function completionScript(program: Command, shell: Shell): string {
  const words = new Map<string, readonly string[]>()
  collect(program, program.name(), words, [])
  return SCRIPTS[shell](words)
}

function collect(
  command: Command,
  path: string,
  words: Map<string, readonly string[]>,
  above: readonly string[],
): void {
  const flags = [...above, ...command.options.flatMap(({ long }) => long ?? [])]
  words.set(path, [...command.commands.map((each) => each.name()), ...flags, '--help'])
  for (const { long, flags: written } of command.options) {
    const choices = /[<[]([\w-]+(?:\|[\w-]+)+)[>\]]/.exec(written)?.[1]
    if (choices) words.set(`${path} ${long}`, choices.split('|'))
  }
  for (const each of command.commands) collect(each, `${path} ${each.name()}`, words, flags)
}

const cases = (words: Words, line: (path: string, words: string) => string): string =>
  [...words].map(([path, next]) => line(path, next.join(' '))).join('\n')

const bash = (words: Words): string => `# Completion of service for bash: source <(service completion bash)
_service_words() {
  case "$1" in
${cases(words, (path, next) => `    '${path}') echo '${next}' ;;`)}
  esac
}
_service() {
  local at=service word i
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    if [[ $word != -* && -n $(_service_words "$at $word") ]]; then at="$at $word"; fi
  done
  local next
  next=$(_service_words "$at \${COMP_WORDS[COMP_CWORD - 1]}")
  if [[ \${COMP_WORDS[COMP_CWORD - 1]} != -* || -z $next ]]; then next=$(_service_words "$at"); fi
  COMPREPLY=($(compgen -W "$next" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _service service
`

const zsh = (words: Words): string =>
  `#compdef service\nautoload -U +X bashcompinit && bashcompinit\n${bash(words).replace('for bash: source <(service completion bash)', 'for zsh: source <(service completion zsh)')}`

const fish = (words: Words): string => `# Completion of service for fish: service completion fish | source
function __service_words
  switch "$argv"
${cases(words, (path, next) => `    case '${path}'\n      string split ' ' '${next}'`)}
  end
end
function __service
  set -l at service
  set -l typed (commandline -opc)
  for word in $typed[2..-1]
    if not string match -q -- '-*' $word; and test -n "$(__service_words "$at $word")"
      set at "$at $word"
    end
  end
  if string match -q -- '-*' $typed[-1]; and test -n "$(__service_words "$at $typed[-1]")"
    __service_words "$at $typed[-1]"
  else
    __service_words $at
  end
end
complete -c service -f -a '(__service)'
complete -c service -l config -r -F
`

const SCRIPTS: Readonly<Record<Shell, (words: Words) => string>> = { bash, zsh, fish }
