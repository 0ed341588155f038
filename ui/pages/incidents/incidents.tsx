// Incidents: find what leaked or must end, see what it reaches, end what is ticked, copy the report.
import { useState } from 'preact/hooks'
import { call } from '../../lib/api.ts'
import { quantity } from '../../lib/format.ts'
import { useLoad } from '../../lib/load.ts'
import { learnNames } from '../../lib/names.ts'
import { go, href, type Location } from '../../lib/router.ts'
import type { IncidentAnswer } from '../../lib/types.ts'
import { ConfirmButton } from '../../parts/dialog.tsx'
import { ID_PAGES, NamedId } from '../../parts/named_id.tsx'
import { OperationButton } from '../../parts/operation_button.tsx'
import { Badge, Card, Code, Facts, PageHead, ProblemNote } from '../../parts/text.tsx'
import { say } from '../../parts/toast.tsx'
import { FINDERS, type IncidentKind } from './find.tsx'

type Step = IncidentAnswer['steps'][number]

const KINDS: Readonly<Record<IncidentKind, readonly [title: string, about: string]>> = {
  token: ['A token leaked', 'Paste it: what it is, what it belongs to, and what ends with it.'],
  person: ['A person left', 'End the access of a person, and see what remains.'],
  client: ['A client floods', 'Limit or suspend a client, and end its tokens.'],
  key: ['A key leaked', 'A signing key or a key of the admin API.'],
}
const isKind = (name: string | undefined): name is IncidentKind => name !== undefined && name in KINDS

/** The list of incidents, or one of them. */
export function Incidents({ place: { segments, query } }: { place: Location }) {
  const [, kind] = segments
  if (!isKind(kind)) return <Choice />
  const [title, about] = KINDS[kind]
  const { subject, id } = query
  const Find = FINDERS[kind]
  const choose = (chosen: string, its: string) => go(href(['incidents', kind], { subject: chosen, id: its }))
  return (
    <div class="stack">
      <PageHead title={title} about={about} from={['Incidents', href(['incidents'])]} />
      {subject && id ? (
        <Reach key={`${subject} ${id}`} subject={subject} id={id} again={href(['incidents', kind])} />
      ) : (
        <Find onFound={choose} />
      )}
    </div>
  )
}

const Choice = () => (
  <>
    <PageHead title="Incidents" about="Find what it is, see what it reaches, end it, copy the report." />
    <div class="card">
      <ul class="matches" aria-label="Incidents">
        {Object.entries(KINDS).map(([kind, [title, about]]) => (
          <li key={kind}>
            <div>
              <a href={href(['incidents', kind])}>
                <b>{title}</b>
              </a>
              <div class="soft small">{about}</div>
            </div>
          </li>
        ))}
      </ul>
    </div>
  </>
)

interface ReachProps {
  subject: string
  id: string
  again: string
}

/** What it reaches with counts, the steps to tick, and the report. */
function Reach({ subject, id, again }: ReachProps) {
  const [rate, setRate] = useState(1)
  const asked = { subject, id, requests_per_second: rate }
  const { data, error } = useLoad(`${subject} ${id} ${rate}`, async () => {
    const answer = await call<IncidentAnswer>('POST', '/admin/incidents', { ...asked, dry_run: true })
    await learnNames(Object.values(answer.about))
    return answer
  })
  const [ticked, setTicked] = useState<readonly string[]>()
  const [done, setDone] = useState<IncidentAnswer>()
  if (done) return <Done of={done} again={again} />
  if (error)
    return (
      <>
        <ProblemNote error={error} />
        <a href={again}>Look for another one</a>
      </>
    )
  if (!data) return <p role="status">Counting what it reaches…</p>
  const chosen = ticked ?? data.steps.filter(({ suggested }) => suggested).map(({ step }) => step)
  const tick = (step: string, isOn: boolean) =>
    setTicked(isOn ? [...chosen, step] : chosen.filter((each) => each !== step))
  const end = async () => {
    const answer = await call<IncidentAnswer>('POST', '/admin/incidents', { ...asked, end: chosen })
    say('Done. The report has what was ended.')
    setDone(answer)
  }
  return (
    <>
      <Card title="What it is">
        <Facts
          of={Object.entries(data.about).map(([name, value]) => [name, <AboutLink key={name} {...{ name, value }} />])}
        />
      </Card>
      <Card title="What to end">
        <div class="body stack">
          {data.steps.length === 0 && <p class="soft">Nothing is left to end.</p>}
          {data.steps.map((step) => (
            <StepBox key={step.step} of={step} isOn={chosen.includes(step.step)} onTick={tick} />
          ))}
          {data.steps.some(({ step }) => step === 'limit') && (
            <div class="field">
              <label for="rate">Requests per second</label>
              <input
                id="rate"
                type="number"
                min={1}
                value={rate}
                onChange={(event) => setRate(Math.max(1, Number(event.currentTarget.value) || 1))}
              />
            </div>
          )}
          <div class="actions">
            {chosen.length === 0 ? (
              <OperationButton operation="incident.end" disabled>
                End what is ticked…
              </OperationButton>
            ) : (
              <ConfirmButton
                operation="incident.end"
                label="End what is ticked…"
                verb="End it"
                title={`Do ${quantity(chosen.length, 'step')}?`}
                run={end}
              >
                {data.steps
                  .filter(({ step }) => chosen.includes(step))
                  .map((step) => `${step.effect}${countsOf(step)}`)
                  .join(' ')}{' '}
                Each step is in the audit trail.
              </ConfirmButton>
            )}
            <a class="button" href={again}>
              Another one
            </a>
          </div>
        </div>
      </Card>
      <Remains of={data.remains} />
    </>
  )
}

const StepBox = ({ of, isOn, onTick }: { of: Step; isOn: boolean; onTick: (step: string, isOn: boolean) => void }) => (
  <div class="field check">
    <input
      id={`step-${of.step}`}
      type="checkbox"
      checked={isOn}
      aria-describedby={`step-${of.step}-hint`}
      onInput={(event) => onTick(of.step, event.currentTarget.checked)}
    />
    <label for={`step-${of.step}`}>
      {LABELS[of.step]}
      {countsOf(of)} {of.needs === 'admin' && <Badge>admin</Badge>}
    </label>
    <span class="hint" id={`step-${of.step}-hint`}>
      {of.effect} <code>{of.operation}</code>
    </span>
  </div>
)

const LABELS: Readonly<Record<Step['step'], string>> = {
  key: 'Revoke the signing key',
  api_key: 'Revoke the key of the admin API',
  disable: 'Disable the user',
  limit: 'Limit the client',
  suspend: 'Suspend the client',
  sign_out: 'Sign the user out everywhere',
  sign_in: 'End this sign-in',
  token: 'Revoke this token',
  client_tokens: 'Revoke all tokens of the client',
  user_tokens: 'Revoke all tokens about the user',
  connections: 'End the connections to providers',
}

const countsOf = ({ tokens, sign_ins }: Step): string => {
  const counts = [
    ...(tokens === undefined ? [] : [quantity(tokens, 'token')]),
    ...(sign_ins === undefined ? [] : [quantity(sign_ins, 'sign-in')]),
  ]
  return counts.length > 0 ? ` (${counts.join(', ')})` : ''
}

const AboutLink = ({ name, value }: { name: string; value: string }) => {
  const page = ID_PAGES[name]
  return page ? <NamedId page={page} id={value} beside={value} /> : <code>{value}</code>
}

const Remains = ({ of }: { of: readonly string[] }) => (
  <Card title="What remains">
    <ul class="body remains">
      {of.map((each) => (
        <li key={each}>{each}</li>
      ))}
    </ul>
  </Card>
)

const TONES = { possible: '', done: 'good', refused: 'warn', failed: 'bad' } as const

function Done({ of, again }: { of: IncidentAnswer; again: string }) {
  const { request_id } = of
  return (
    <>
      <Card title="What was done">
        <ul class="matches" aria-label="What was done">
          {of.steps.map((step) => (
            <li key={step.step}>
              <div>
                <Badge tone={TONES[step.result]}>{step.result}</Badge> {LABELS[step.step]}
                {countsOf(step)}
                {step.message && <div class="small">{step.message}</div>}
              </div>
            </li>
          ))}
        </ul>
      </Card>
      <Card title="Report">
        <div class="body stack">
          <Code text={of.report} what="report" />
          <div class="actions">
            {request_id && (
              <a class="button" href={href(['audit'], { request_id })}>
                Its audit events
              </a>
            )}
            <a class="button" href={again}>
              Another one
            </a>
          </div>
        </div>
      </Card>
      <Remains of={of.remains} />
    </>
  )
}
