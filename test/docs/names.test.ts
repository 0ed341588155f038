// Names in the documentation exist: settings, variables, commands and flags, endpoints, metrics, codes, reasons, fields.
import { beforeAll, describe, expect, test } from 'vitest'
import { parse as parseYaml } from 'yaml'
import { blocksOf, codeIn, type Doc, isBlock, parse, written } from './markdown.ts'
import { commandFault, isEndpoint, isWord, readCommands, sections, settings, variables } from './names.ts'

const inDocs = (faultsOf: (doc: Doc) => string[]) =>
  written.flatMap((doc) => faultsOf(doc).map((fault) => `${doc.file}: ${fault}`))

/** `oidc.*` is the section, `…` and what is in brackets stands for anything. */
const isSetting = (name: string) => settings.has(name.replace(/\.\*$/, ''))
const LOOKS_LIKE_SETTING = /^[a-z_]+(\.[a-z_*]+)+$/
/** `policy.exchange` and the like are members of records. */
const unknownSettings = (doc: Doc) =>
  codeIn(doc)
    .map((code) => code.split(/[:=] ?/)[0] as string)
    .filter((code) => LOOKS_LIKE_SETTING.test(code) && sections.has(code.split('.')[0] as string) && !isSetting(code))

const CONFIGURATION = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && Object.keys(value).every((key) => sections.has(key))
const keysIn = (value: unknown, at = ''): string[] =>
  typeof value !== 'object' || value === null || Array.isArray(value)
    ? [at]
    : Object.entries(value).flatMap(([name, inner]) => keysIn(inner, at ? `${at}.${name}` : name))

const unknownVariables = ({ text }: Doc) =>
  [...text.matchAll(/\bSERVICE_[A-Z0-9_]+[A-Z0-9]\b(?!_?[…*])/g)]
    .map(([name]) => name)
    .filter((name) => !variables.has(name))

/** Paths of the machine, and of other servers. */
const ELSEWHERE = /^\/(var|etc|tmp|backup|data|proc|mcp|realms|dev|usr)\b|^\/$/
const unknownEndpoints = (doc: Doc) =>
  codeIn(doc)
    .filter((code) => /^([A-Z]+ )?\/[\w./{}<>-]*([?#].*)?$/.test(code) && !ELSEWHERE.test(code.replace(/^[A-Z]+ /, '')))
    .filter((code) => !isEndpoint(code))

const unknownWords = (doc: Doc) => codeIn(doc).filter((code) => /^[a-z0-9]+(_[a-z0-9]+)+$/.test(code) && !isWord(code))

describe('names in the documentation exist', () => {
  let commands: Map<string, string[]>
  beforeAll(async () => {
    commands = await readCommands()
  })

  test('settings in the text exist', () => expect(inDocs(unknownSettings)).toEqual([]))

  test('settings in YAML exist', () => {
    const faults = inDocs((doc) =>
      blocksOf(doc, 'yaml').flatMap(({ text }) => {
        const value: unknown = parseYaml(text)
        return CONFIGURATION(value) ? keysIn(value).filter((key) => !settings.has(key)) : []
      }),
    )
    expect(faults).toEqual([])
  })

  test('environment variables exist', () => expect(inDocs(unknownVariables)).toEqual([]))

  test('endpoints exist', () => expect(inDocs(unknownEndpoints)).toEqual([]))

  test('codes, reasons, fields, metrics and audit actions exist', () => expect(inDocs(unknownWords)).toEqual([]))

  test('commands and their flags exist', () => {
    expect(commands.size).toBeGreaterThan(50)
    const lines = (doc: Doc) => [
      ...codeIn(doc),
      ...doc.steps
        .flatMap((step) => (isBlock(step) ? (step.lang === 'sh' ? step.text : '') : step.hidden))
        .flatMap((text) => text.replaceAll('\\\n', ' ').split('\n')),
    ]
    const faults = inDocs((doc) =>
      lines(doc)
        .flatMap((line) => /(?:^|[ (])(service [a-z].*)$/.exec(line)?.[1] ?? [])
        .flatMap((line) => commandFault(commands, line) ?? []),
    )
    expect(faults).toEqual([])
  })

  test('names that do not exist are found', () => {
    const doc: Doc = {
      file: 'x.md',
      text: ['`SERVICE', 'NO', 'SUCH_THING`'].join('_'),
      ...parse(
        '`server.isuer` `server.issuer` `GET /admin/nothing` `/oauth/token` `wrong_secrets` `invalid_client` `core_tokens_total` `oidc_scope` `oidc_iat` `client_full` `crypto_lane_full`',
      ),
    }
    expect(unknownSettings(doc)).toEqual(['server.isuer'])
    expect(unknownVariables(doc)).toHaveLength(1)
    expect(unknownEndpoints(doc)).toEqual(['GET /admin/nothing'])
    expect(unknownWords(doc)).toEqual(['wrong_secrets', 'core_tokens_total', 'oidc_scope', 'client_full'])
    expect(commandFault(commands, 'service admin client creat --name x')).toBe('service admin client has no creat')
    expect(commandFault(commands, "service purge --onyl 'a b'")).toBe('service purge has no --onyl')
    expect(commandFault(commands, 'service admin key revoke --kid $(x) --dry-run # why')).toBeUndefined()
  })
})
