// The lines that a server and a client need to use a resource of this service.

export interface Wiring {
  issuer: string
  uri: string
  slug: string
  scopes: readonly string[]
}
type Snippet = readonly [title: string, text: string]

const listOf = (scopes: readonly string[], quote = "'") => scopes.map((each) => quote + each + quote).join(', ')
const metadataOf = ({ issuer, slug }: Wiring) => `${issuer}/.well-known/oauth-protected-resource/${slug}`

/** For the server, by language. */
export const serverSnippets = (wiring: Wiring): readonly Snippet[] => {
  const { issuer, uri, scopes } = wiring
  const metadata = metadataOf(wiring)
  return [
    [
      'Node',
      `import { createVerifier } from '@service/resource-server'
import { requireToken } from '@service/resource-server/express'

const verifier = createVerifier({
  issuer: '${issuer}',
  resource: '${uri}',
  scopesSupported: [${listOf(scopes)}],
})
app.get(new URL(verifier.resourceMetadataUrl).pathname, (_, answer) => answer.json(verifier.resourceMetadata))
app.post('${pathOf(uri)}', requireToken(verifier), handleMcp)`,
    ],
    [
      'Python, FastMCP',
      `from fastmcp.server.auth import RemoteAuthProvider
from fastmcp.server.auth.providers.jwt import JWTVerifier

verifier = JWTVerifier(
    jwks_uri="${issuer}/.well-known/jwks.json",
    issuer="${issuer}",
    audience="${uri}",
    algorithm="ES256",
)
auth = RemoteAuthProvider(
    token_verifier=verifier,
    authorization_servers=["${issuer}"],
    base_url="${new URL(uri).origin}",
    scopes_supported=[${listOf(scopes, '"')}],
)`,
    ],
    [
      'Go',
      `provider, err := oidc.NewProvider(ctx, "${issuer}")
verifier := provider.Verifier(&oidc.Config{
	ClientID:             "${uri}", // the audience
	SupportedSigningAlgs: []string{"ES256"},
})
handler = auth.RequireBearerToken(verify, &auth.RequireBearerTokenOptions{
	ResourceMetadataURL: "${metadata}",
})(handler)`,
    ],
    [
      'Java, Spring',
      `NimbusJwtDecoder decoder = NimbusJwtDecoder.withIssuerLocation("${issuer}").validateType(false).build();
decoder.setJwtValidator(JwtValidators.createDefaultWithValidators(
    new JwtTypeValidator("at+jwt"),
    new JwtIssuerValidator("${issuer}"),
    new JwtClaimValidator<List<String>>("aud", aud -> aud != null && aud.contains("${uri}"))));`,
    ],
    [
      'C#',
      `builder.Services.AddAuthentication(JwtBearerDefaults.AuthenticationScheme).AddJwtBearer(options =>
{
    options.Authority = "${issuer}";
    options.Audience = "${uri}";
    options.TokenValidationParameters.ValidTypes = ["at+jwt"];
});`,
    ],
    [
      'nginx',
      `# The metadata of this service in place of your own. Your server still verifies each token.
location = /.well-known/oauth-protected-resource${pathOf(uri)} {
    proxy_pass ${metadata};
    proxy_ssl_server_name on;
}
# In the answer 401:
# WWW-Authenticate: Bearer resource_metadata="${metadata}"`,
    ],
  ]
}

/** For the clients of people. */
export const clientSnippets = ({ uri, slug }: Wiring): readonly Snippet[] => [
  ['Claude', `claude mcp add --transport http ${slug} ${uri}`],
  ['Cursor', json({ mcpServers: { [slug]: { url: uri } } })],
  ['VS Code', json({ servers: { [slug]: { type: 'http', url: uri } } })],
  ['Codex', `codex mcp add ${slug} --url ${uri}\ncodex mcp login ${slug}`],
  ['Gemini', `gemini mcp add --transport http ${slug} ${uri}`],
]

const json = (value: object) => JSON.stringify(value, null, 2)
const pathOf = (uri: string) => new URL(uri).pathname
