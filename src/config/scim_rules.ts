// How people of SCIM are matched at the sign-in of one provider.
import type { ScimMatch, ScimProvider } from '../records/scim.ts'
import type { OidcSettings } from './oidc_keys.ts'
import type { Config } from './schema.ts'

/** The rules of a provider: its own, otherwise those of `scim.*`. */
export function scimRules({ scim }: Config, { settings }: OidcSettings): { match: ScimMatch; subject_claim: string } {
  const { scim_match = 'inherit', scim_subject_claim } = settings
  return {
    match: scim_match === 'inherit' ? scim.match : scim_match,
    subject_claim: scim_subject_claim || scim.subject_claim || 'sub',
  }
}

/** A provider as the store needs it. */
export function scimProviderOf(config: Config, provider: OidcSettings): ScimProvider {
  const { match, subject_claim } = scimRules(config, provider)
  const { issuer } = provider.settings
  return { slug: provider.slug, issuer, match, isSubject: subject_claim === 'sub' }
}
