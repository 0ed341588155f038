// The language of the pages in this browser. The choice takes precedence over the Accept-Language header.
import type { Params } from '../../http/message.ts'
import { html } from '../../lib/html.ts'
import { LANGUAGES, languageCookie } from '../pages/language.ts'
import { type AccountRequest, type AccountSection, type Submitted, sectionForm } from './section.ts'

const ID = 'language'

export const languageSection = {
  id: ID,
  heading: ({ account }) => account.language.heading,
  render(account) {
    const { messages } = account
    const t = messages.account.language
    const options = LANGUAGES.map(
      ({ language, languageName }) =>
        html`<option value="${language}" lang="${language}"${language === messages.language && ' selected'}>${languageName}</option>`,
    )
    return sectionForm(
      account,
      ID,
      html`<label for="language-choice">${t.label}</label>
<select id="language-choice" name="language">${options}</select>
<button class="wide">${t.submit}</button>`,
    )
  },
  submit: chooseLanguage,
} satisfies AccountSection

async function chooseLanguage({ app }: AccountRequest, { language }: Params): Promise<Submitted> {
  const cookie = languageCookie(app, language)
  return cookie === undefined ? {} : { cookies: [cookie] }
}
