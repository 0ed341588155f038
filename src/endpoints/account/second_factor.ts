// The second factors of a local user. Their forms have a page of their own, because they also work before a sign-in is complete.
import { html } from '../../lib/html.ts'
import { addForms, factorList, recoveryForm } from '../pages/factor_forms.ts'
import { type AccountSection, providerHost } from './section.ts'

export const factorSection = {
  id: 'second-factor',
  heading: ({ factor }) => factor.heading,
  async render(account) {
    const { app, signedIn, messages } = account
    const { id: user_id, provider } = signedIn.user
    const { factor: t } = messages
    if (provider !== 'local') return html`<p class="note">${t.elsewhere(providerHost(signedIn.user))}</p>`
    const [factors, left] = await Promise.all([
      app.store.listFactors({ user_id }),
      app.store.countRecoveryCodes({ user_id }),
    ])
    if (factors.length === 0) return html`<p class="soft">${t.lead}</p>\n${addForms(account, factors)}`
    return html`<p class="soft">${t.lost}</p>
${factorList(account, factors)}
${recoveryForm(account, left)}
${addForms(account, factors)}`
  },
} satisfies AccountSection
