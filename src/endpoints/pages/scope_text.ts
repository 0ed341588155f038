// What users read about a scope, in their language.
import { html, isolated, type Markup } from '../../lib/html.ts'
import type { ResourceScope } from '../../records/resource.ts'
import type { Messages } from '../messages/en.ts'

/** The language of a description beside translations. */
const DEFAULT_LANGUAGE = 'en'

/**
 * The description of a scope in the language of a page. One in another language says which: it counts as English when the scope has
 * translations, unless one of them is the same text. Undefined when there is no description.
 */
export function descriptionOf(
  { language }: Messages,
  scope: Pick<ResourceScope, 'description' | 'descriptions'> | undefined,
): Markup | undefined {
  const { description = '', descriptions } = scope ?? {}
  const translations = Object.entries(descriptions ?? {})
  const own =
    translations.find(([tag]) => tag === language) ?? translations.find(([tag]) => tag.startsWith(`${language}-`))
  if (own) return isolated(own[1])
  const [other] = translations
  if (description === '') return other && inLanguage(...other)
  if (!other) return isolated(description)
  const tag = translations.find(([, text]) => text === description)?.[0] ?? DEFAULT_LANGUAGE
  return tag === language ? isolated(description) : inLanguage(tag, description)
}

const inLanguage = (tag: string, text: string): Markup => html`<bdi lang="${tag}">${text}</bdi>`
