// Makes the token request of a client that authenticates with a key: `service try assertion` on the page.
import { useState } from 'preact/hooks'
import { get } from '../../lib/api.ts'
import { type MadeAssertion, makeAssertion } from '../../lib/client_assertion.ts'
import { quotedArgument } from '../../lib/schema.ts'
import { useWork } from '../../lib/work.ts'
import { TextField } from '../../parts/forms/text_field.tsx'
import { Card, Code, JsonText, ProblemNote } from '../../parts/text.tsx'

/** A private key and a client ID, and the request that they make. */
export function MakeAssertion() {
  const [client, setClient] = useState('')
  const [key, setKey] = useState('')
  const [made, setMade] = useState<MadeAssertion & { issuer: string }>()
  const { error, run } = useWork()
  const submit = (event: SubmitEvent) => {
    event.preventDefault()
    setMade(undefined)
    void run(async () => {
      const { server } = await get<{ server: { issuer: string } }>('/admin/system/config')
      setMade({ ...(await makeAssertion(key, client, server.issuer)), issuer: server.issuer })
    })
  }
  return (
    <div class="two">
      <Card title="Client and key">
        <form class="fields body" onSubmit={submit}>
          <TextField label="Client ID" required value={client} onText={setClient} />
          <TextField
            label="Private key"
            hint="PEM (PKCS #8) or JWK. It is used in this browser only and is not sent."
            required
            rows={8}
            value={key}
            onText={setKey}
          />
          <ProblemNote error={error} />
          <div class="form-foot">
            <button type="submit" class="primary">
              Make an assertion
            </button>
          </div>
        </form>
      </Card>
      <Card title="The request">
        {!made && (
          <p class="body soft">
            The assertion, the request that sends it, and the public key that the client must be registered with.
          </p>
        )}
        {made && (
          <div class="body stack">
            <p>The request works once, within {Number(made.claims['exp']) - Number(made.claims['iat'])} seconds.</p>
            <Code text={curlOfForm(made.issuer, made.form)} what="curl command" />
            <p>Public key of the client (jwks):</p>
            <JsonText of={made.jwks} what="jwks" />
            <p>The assertion says:</p>
            <JsonText of={made.header} what="header" />
            <JsonText of={made.claims} what="claims" />
          </div>
        )}
      </Card>
    </div>
  )
}

const curlOfForm = (issuer: string, form: Record<string, string>) =>
  [
    `curl -sS ${quotedArgument(`${issuer.replace(/\/$/, '')}/oauth/token`)}`,
    ...Object.entries(form).map(([name, value]) => `  --data-urlencode ${quotedArgument(`${name}=${value}`)}`),
  ].join(' \\\n')
