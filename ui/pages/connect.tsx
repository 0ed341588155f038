// Connect an MCP server: read what it publishes, register it, show the lines for it and its clients, and try a sign-in.
import { useEffect, useState } from 'preact/hooks'
import { call, get, segment } from '../lib/api.ts'
import { useGet } from '../lib/load.ts'
import { go, href, type Location } from '../lib/router.ts'
import { beginSignIn, endSignIn } from '../lib/sign_in_test.ts'
import { clientSnippets, serverSnippets } from '../lib/snippets.ts'
import type { Discovered, ResourceAnswer } from '../lib/types.ts'
import { useWork } from '../lib/work.ts'
import { Pending } from '../parts/entity.tsx'
import { Checks } from '../parts/forms/checks.tsx'
import { TextField } from '../parts/forms/text_field.tsx'
import { OperationButton } from '../parts/operation_button.tsx'
import { Badge, Card, Code, PageHead, ProblemNote, sentence } from '../parts/text.tsx'

type Step = Discovered['steps'][number]

/** Steps with their answers, and what to change where one failed. */
const Steps = ({ of }: { of: readonly Step[] }) => (
  <ol class="steps" aria-label="Steps">
    {of.map(({ step, ok, answer, fix }, i) => (
      <li key={`${i}${step}`}>
        <span class={`dot ${ok ? 'good' : 'bad'}`} />
        <span>
          <code>{step}</code>
          <br />
          <small class="soft">{answer}</small>
          {fix && (
            <>
              <br />
              <small>What to change: {sentence(fix)}</small>
            </>
          )}
        </span>
        <Badge tone={ok ? 'good' : 'bad'}>{ok ? 'passed' : 'failed'}</Badge>
      </li>
    ))}
  </ol>
)

/** The page that connects a server. */
export function NewServer() {
  const [url, setUrl] = useState('')
  const [found, setFound] = useState<Discovered>()
  const { error, busy, run } = useWork()
  const read = (event: SubmitEvent) => {
    event.preventDefault()
    setFound(undefined)
    void run(() => get<Discovered>('/admin/resource-metadata', { url: url.trim() }).then(setFound))
  }
  return (
    <div class="stack">
      <PageHead
        title="Connect an MCP server"
        about="Enter the URL of its endpoint. The page reads what it publishes, registers it, and shows what it and its clients need."
      />
      <Card title="1. Its URL">
        <form class="fields body" onSubmit={read}>
          <TextField
            label="URL of the MCP endpoint"
            autofocus
            required
            placeholder="https://notes.example.com/mcp"
            value={url}
            onText={setUrl}
          />
          <ProblemNote error={error} />
          <div>
            <OperationButton operation="resource.discover" type="submit" class="primary" disabled={busy}>
              Read its metadata
            </OperationButton>
          </div>
        </form>
      </Card>
      {found && <Found key={url} url={url.trim()} found={found} />}
    </div>
  )
}

/** What was found, and the form that registers it. A server that publishes nothing yet can be registered too. */
function Found({ url, found }: { url: string; found: Discovered }) {
  const uri = found.resource ?? url
  const [slug, setSlug] = useState(() => new URL(uri).hostname.split('.')[0] ?? '')
  const [scopes, setScopes] = useState(found.scopes.join('\n'))
  const { error, run } = useWork()
  const create = async () => {
    const names = scopes.split('\n').filter(Boolean)
    const made = await call<ResourceAnswer>('POST', '/admin/resources', {
      slug,
      uri,
      backend_kind: 'mint',
      scopes: names.map((name) => ({ name })),
    })
    go(href(['connect', made.slug]))
  }
  return (
    <>
      <Card title="2. What it answers">
        <div class="body">
          <Steps of={found.steps} />
        </div>
      </Card>
      <Card title="3. Register it">
        {found.slug !== undefined ? (
          <p class="body">
            It is registered already. <a href={href(['connect', found.slug])}>Continue with {found.slug}</a>
          </p>
        ) : (
          <form
            class="fields body"
            onSubmit={(event) => {
              event.preventDefault()
              void run(create)
            }}
          >
            <p>
              Its tokens are for <code>{uri}</code>.
            </p>
            <TextField label="Short name (slug)" required value={slug} onText={setSlug} />
            {found.scopes.length > 0 ? (
              <fieldset class="field">
                <legend>Scopes that it publishes</legend>
                <Checks
                  options={found.scopes.map((each) => [each, each] as const)}
                  value={scopes}
                  onValue={setScopes}
                />
              </fieldset>
            ) : (
              <p class="soft">It publishes no scopes. Add them later on its page, if it has permissions of its own.</p>
            )}
            <ProblemNote error={error} />
            <div>
              <OperationButton operation="resource.create" type="submit" class="primary">
                Register it
              </OperationButton>
            </div>
          </form>
        )}
      </Card>
    </>
  )
}

/** The page of a registered server. */
export function Connected({ id: slug, place: { query } }: { id: string; place: Location }) {
  const { data: resource, error } = useGet<ResourceAnswer>(`/admin/resources/${segment(slug)}`)
  const config = useGet<{ server: { issuer: string } }>('/admin/system/config')
  const issuer = config.data?.server.issuer
  const from = ['Connect an MCP server', href(['connect'])] as const
  if (!resource || issuer === undefined)
    return <Pending title="Connect an MCP server" from={from} error={error ?? config.error} />
  const wiring = { issuer, slug, uri: resource.uri, scopes: resource.scopes.map(({ name }) => name) }
  return (
    <div class="stack">
      <PageHead title={resource.display_name || slug} from={from} about={<code>{resource.uri}</code>}>
        <a class="button" href={href(['resources', slug])}>
          Its page
        </a>
      </PageHead>
      <SignInTest resource={resource} issuer={issuer} query={query} />
      <Snippets title="Lines for the server" of={serverSnippets(wiring)} />
      <Snippets title="Lines for clients" of={clientSnippets(wiring)} />
    </div>
  )
}

/** Alternatives, of which one is shown. */
function Snippets({ title, of }: { title: string; of: ReturnType<typeof clientSnippets> }) {
  const [shown, setShown] = useState(0)
  const [name = '', text = ''] = of[shown] ?? []
  return (
    <Card title={title}>
      <div class="body stack">
        <fieldset class="actions" aria-label={title}>
          {of.map(([each], i) => (
            <button key={each} type="button" aria-pressed={i === shown} onClick={() => setShown(i)}>
              {each}
            </button>
          ))}
        </fieldset>
        <Code text={text} what={`lines for ${name}`} />
      </div>
    </Card>
  )
}

interface TestProps {
  resource: ResourceAnswer
  issuer: string
  query: Location['query']
}
/** The button that starts a real sign-in, and the steps after the return. */
function SignInTest({ resource, issuer, query }: TestProps) {
  const [steps, setSteps] = useState<Step[]>()
  const { error, run } = useWork()
  const end = async () => {
    const found = await endSignIn(query)
    if (!found) return
    setSteps(found)
    // The code is used. A reload must not send it again.
    go(href(['connect', resource.slug]), { replace: true })
  }
  useEffect(() => void run(end), [])
  return (
    <Card
      title="Try a sign-in"
      aside={
        <OperationButton
          operation="try.signIn"
          class="primary"
          onClick={() => void run(() => beginSignIn(issuer, resource))}
        >
          {steps ? 'Try it again' : 'Sign in as a user'}
        </OperationButton>
      }
    >
      <div class="body stack">
        <ProblemNote error={error} />
        {steps ? (
          <Steps of={steps} />
        ) : (
          <p class="soft">
            A test client is created. You sign in as one of the users and agree, as in any client. Then the page redeems
            the code, calls the server with the token, shows each answer, and deletes the test client.
          </p>
        )}
      </div>
    </Card>
  )
}
