// The catalogue of messages. The compiler proves that every language has every key; these tests prove what it cannot.
import { describe, expect, test } from 'vitest'
import { en } from '../../src/endpoints/messages/en.ts'
import { LANGUAGES } from '../../src/endpoints/pages/language.ts'
import { Markup } from '../../src/lib/html.ts'

/** A parameter that can be seen in a message: markup in a text, text in a title or a label. */
class Mark extends Markup {
  override toString(): string {
    return this.text
  }
}
const MARKS = [new Mark('«1»'), new Mark('«2»')]

type Message = string | ((...parameters: Mark[]) => string | Markup)
type Catalogue = { readonly [key: string]: Message | Catalogue }

/** Every message of a catalogue with its path, and with marks in the place of its parameters. */
function* messagesIn(catalogue: object, at = ''): Generator<[path: string, text: string]> {
  for (const [key, entry] of Object.entries(catalogue as Catalogue)) {
    const path = at ? `${at}.${key}` : key
    if (typeof entry === 'object') yield* messagesIn(entry, path)
    else yield [path, typeof entry === 'string' ? entry : textOf(entry(...MARKS))]
  }
}
const textOf = (value: string | Markup): string => (value instanceof Markup ? value.text : value)

const english = new Map(messagesIn(en))

describe.each(LANGUAGES.map((messages) => [messages.language, messages] as const))('%s', (language, messages) => {
  const all = [...messagesIn(messages)]

  test('has the messages of English and no others', () => {
    expect(all.map(([path]) => path)).toEqual([...english.keys()])
  })

  test('mentions every parameter of every message', () => {
    const marksOf = (text: string) => [...new Set(text.match(/«\d»/g))].sort()
    for (const [path, text] of all) expect([path, marksOf(text)]).toEqual([path, marksOf(english.get(path) ?? '')])
  })

  test('has complete texts: no space at an end, no blank, and the end of a sentence where English has it', () => {
    for (const [path, text] of all) {
      expect([path, text.trim()]).toEqual([path, text])
      expect([path, text.length > 0]).toEqual([path, true])
      if (/[.:?]$/.test(english.get(path) ?? '')) expect([path, text]).toEqual([path, expect.stringMatching(/[.:?]$/)])
    }
  })

  test('is a language that the platform knows, under its own name', () => {
    expect(new Intl.DisplayNames(language, { type: 'language' }).of(language)?.toLowerCase()).toBe(
      messages.languageName.toLowerCase(),
    )
  })
})

test.each(LANGUAGES.slice(1).map((messages) => [messages.language, messages] as const))(
  '%s is translated: no text is the English one',
  (_, messages) => {
    // People know the word from their devices.
    const kept = [...messagesIn(messages)].filter(([path, text]) => text === english.get(path) && text !== 'Passkey')
    expect(kept).toEqual([])
  },
)
