// The three forms of "Try it", each with its answer beside it.
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { explain } from '../../lib/explain.ts'
import { takeHandedOver } from '../../lib/held.ts'
import { useGet } from '../../lib/load.ts'
import { href } from '../../lib/router.ts'
import { quotedArgument } from '../../lib/schema.ts'
import type { Checked, Decoded, Minted } from '../../lib/types.ts'
import { OperationForm } from '../../parts/forms/form.tsx'
import { SentBeside } from '../../parts/sent.tsx'
import { Badge, Card, Code, CopyButton, JsonText, Time, type Tone } from '../../parts/text.tsx'

interface Props {
  /** A token that was issued by the form. */
  token: string
  onToken: (token: string) => void
}
type Refusal = NonNullable<Checked['refusal']>

const Waiting = ({ children }: { children: ComponentChildren }) => <p class="body soft">{children}</p>

/** Why the request was refused. */
const Refused = ({ of }: { of: Refusal }) => {
  const { error, error_description, reason } = of
  const { why, todo } = explain(reason, error_description)
  return (
    <div class="note bad">
      <b>{why}</b>
      <p>{todo}</p>
      <p class="small">
        The client receives <code>{error}</code>: {error_description}. The reason is <code>{reason}</code>.
      </p>
      <SentBeside of={of} />
    </div>
  )
}

/** Issues a client_credentials token. */
export function MintToken({ onToken }: Props) {
  const [minted, setMinted] = useState<Minted>()
  const [start] = useState(takeHandedOver)
  const config = useGet<{ server: { issuer: string } }>('/admin/system/config')
  const done = (answer: Minted) => {
    setMinted(answer)
    onToken(answer.response?.access_token ?? '')
  }
  const issuer = config.data?.server.issuer ?? ''
  return (
    <div class="two">
      <Card title="Request of a machine client">
        <div class="body">
          <OperationForm<Minted>
            operation="try.token"
            fields={['client_id', 'client_secret', 'resource', 'scope']}
            start={start}
            verb="Mint a token"
            onDone={done}
          />
        </div>
      </Card>
      <div class="stack">
        <Card title="The answer">
          {!minted && (
            <Waiting>
              Give the id and the secret of a confidential client. The answer is a real token, and the issuance is
              recorded.
            </Waiting>
          )}
          {minted && (
            <div class="body stack">
              {minted.response ? (
                <>
                  <p>
                    <Badge tone="good">granted</Badge> for {minted.response.expires_in} seconds,{' '}
                    {minted.response.scope ? <code>{minted.response.scope}</code> : 'without a scope'}
                  </p>
                  <Code text={minted.response.access_token} what="access token" />
                  <a class="button" href={href(['try', 'decode'])}>
                    Decode it
                  </a>
                </>
              ) : (
                minted.refusal && <Refused of={minted.refusal} />
              )}
            </div>
          )}
        </Card>
        <Card title="The same without this page">
          <div class="body stack">
            <Code what="curl command" text={curlFor(issuer)} />
            <Code what="command" text={MINT_COMMAND} />
          </div>
        </Card>
      </div>
    </div>
  )
}

const MINT_COMMAND = [
  'service admin try token --client-id "$CLIENT_ID" \\',
  '  --client-secret-file secret.txt --resource "$RESOURCE"',
].join('\n')

const curlFor = (issuer: string) =>
  [
    `curl -sS ${quotedArgument(`${issuer}/oauth/token`)}`,
    `  -u "$CLIENT_ID:$CLIENT_SECRET"`,
    '  -d grant_type=client_credentials',
    '  -d resource="$RESOURCE"',
  ].join(' \\\n')

/** Decodes a token. */
export function DecodeToken({ token }: Props) {
  const [decoded, setDecoded] = useState<Decoded>()
  const exp = decoded?.claims?.['exp']
  return (
    <div class="two">
      <Card title="Any token">
        <div class="body">
          <OperationForm<Decoded>
            operation="try.decode"
            fields={['token']}
            start={{ token }}
            long={['token']}
            verb="Decode"
            onDone={setDecoded}
          />
        </div>
      </Card>
      <Card title="Content">
        {!decoded && <Waiting>Paste an access token. It is sent only to this server and is not stored.</Waiting>}
        {decoded && (
          <div class="body stack">
            <Verdict of={verdictOf(decoded)} />
            {decoded.issuance_id && (
              <a class="button" href={href(['issuances', decoded.issuance_id])}>
                Its record
              </a>
            )}
            {typeof exp === 'number' && (
              <p class="soft">
                Expires <Time at={new Date(exp * 1000).toISOString()} />
              </p>
            )}
            {decoded.header && <JsonText of={decoded.header} what="header" />}
            {decoded.claims && <JsonText of={decoded.claims} what="claims" />}
          </div>
        )}
      </Card>
    </div>
  )
}

/** What a token is: a word for it with its tone, and a sentence. */
function verdictOf(token: Decoded): readonly [tone: Tone, word: string, text: string] {
  if (token.form === 'opaque')
    return ['warn', 'opaque', 'It is not a JWT: a refresh token, a code, or a token of another server.']
  if (!token.ours) return ['warn', 'foreign', 'It is a JWT, but it is not signed with a key of this server.']
  if (token.signature === 'invalid')
    return ['bad', 'forged', 'It names a key of this server, but its signature is wrong.']
  if (token.active) return ['good', 'active', 'This server signed it, and it is valid.']
  const because = token.expired
    ? 'it has expired'
    : token.revoked
      ? 'it was revoked'
      : 'its client or user is suspended or disabled'
  return ['bad', 'not active', `Signed here, but ${because}.`]
}

const Verdict = ({ of: [tone, word, text] }: { of: ReturnType<typeof verdictOf> }) => (
  <p>
    <Badge tone={tone}>{word}</Badge> {text}
  </p>
)

const TONES = { passed: 'good', failed: 'bad', not_reached: '' } as const
const RESULTS = { passed: 'passed', failed: 'failed', not_reached: 'not reached' } as const

/** Checks an ID-JAG assertion. */
export function CheckAssertion(_: Props) {
  const [checked, setChecked] = useState<Checked>()
  return (
    <div class="two">
      <Card title="Assertion and client">
        <div class="body">
          <OperationForm<Checked>
            operation="try.idJag"
            fields={['assertion', 'client_id', 'resource', 'scope']}
            long={['assertion']}
            verb="Check"
            onDone={setChecked}
          />
        </div>
      </Card>
      <Card
        title="Step by step"
        aside={checked && <CopyButton text={JSON.stringify(checked, null, 2)} what="result" />}
      >
        {!checked && <Waiting>The checks of the token endpoint, in its order. The assertion is not consumed.</Waiting>}
        {checked && (
          <div class="body stack">
            {checked.granted ? (
              <p class="note good">
                It would be redeemed for <code>{checked.granted.scope || 'no scope'}</code> about{' '}
                <code>{checked.granted.sub}</code>
                {checked.granted.resource && (
                  <>
                    {' '}
                    at <code>{checked.granted.resource}</code>
                  </>
                )}
                {checked.needs_dpop && ', with a DPoP proof of its key'}.
              </p>
            ) : (
              checked.refusal && <Refused of={checked.refusal} />
            )}
            <ol class="steps">
              {checked.steps.map(({ check, about, result }) => (
                <li key={check}>
                  <span class={`dot ${TONES[result]}`} />
                  <span>{about}</span>
                  <Badge tone={TONES[result]}>{RESULTS[result]}</Badge>
                </li>
              ))}
            </ol>
            {checked.claims && <JsonText of={checked.claims} what="claims" />}
          </div>
        )}
      </Card>
    </div>
  )
}
