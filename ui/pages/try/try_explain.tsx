// "Explain": would this user get a token for this resource, and why? For readers who do not know OAuth.
import { useState } from 'preact/hooks'
import type { RuleName } from '../../../src/oauth/tokens/rule_name.ts'
import { grantOptions } from '../../lib/grants.ts'
import type { Explained } from '../../lib/types.ts'
import { OperationForm } from '../../parts/forms/form.tsx'
import { Badge, Card, CopyButton, JsonText } from '../../parts/text.tsx'

/** Each rule as a question that is answered with yes when it passed. */
const QUESTIONS: Readonly<Record<RuleName, string>> = {
  grant_enabled: 'Does this service offer this way to get access?',
  client_active: 'Is the application registered and active?',
  client_confidential: 'Does the application have a secret or a key of its own?',
  grant_registered: 'May the application use this way to get access?',
  user_active: 'Is the user known and active?',
  resource_known: 'Is the resource registered?',
  scope: 'May the application ask for these permissions?',
  fronting_link: 'Does a link lead to the resource from the one that the access is for, if it is for another one?',
  actor_chain: 'Is the chain of those who act for the user short enough?',
  connection: 'Is the account of the user at the provider connected, if the resource needs one?',
  exchange_list: 'May the application pass access on to this resource?',
  policy: 'Does a policy of the identity provider allow it?',
  access: 'Is the user one of those who may use the resource?',
  scope_groups: 'Is the user in a group that gets these permissions?',
  authorization_details: 'May it get these single actions?',
  consent: 'Has the user allowed the application?',
  openid: 'Does the application get an ID token, which tells it who the user is?',
}
const TONES = { passed: 'good', failed: 'bad', not_reached: '' } as const
const ANSWERS = { passed: 'yes', failed: 'no', not_reached: 'not asked' } as const

/** Asks the admin API, and shows its answer rule by rule. `asked` has what is known already: the client, the user or the resource. */
export function ExplainAccess({ asked }: { asked: Readonly<Record<string, string>> }) {
  const [explained, setExplained] = useState<Explained>()
  const copy = explained && <CopyButton text={JSON.stringify(explained, null, 2)} what="answer" />
  return (
    <div class="two">
      <Card title="Who wants to use what?">
        <div class="body">
          <OperationForm<Explained>
            operation="try.explain"
            fields={['grant', 'client_id', 'user', 'resource', 'scope', 'actor', 'source']}
            options={{ grant: grantOptions('plain') }}
            start={{ grant: 'authorization_code', ...asked }}
            verb="Explain"
            onDone={setExplained}
          />
        </div>
      </Card>
      <Card title="The answer" aside={copy}>
        {explained ? (
          <Answer of={explained} />
        ) : (
          <p class="body soft">
            Name an application (client), a user and a resource. The answer says whether the application would get
            access, and what to change if not. Nothing is issued or changed.
          </p>
        )}
      </Card>
    </div>
  )
}

function Answer({ of: { ok, steps, claims, id_token } }: { of: Explained }) {
  const failed = steps.find(({ outcome }) => outcome === 'failed')
  return (
    <div class="body stack">
      {ok ? (
        <p class="note good">Yes. The application would get access.</p>
      ) : (
        <div class="note bad">
          <b>No. The application would not get access.</b>
          {failed && (
            <>
              <p>{questionOf(failed.rule)} No.</p>
              <p>What to change: {failed.change}</p>
            </>
          )}
        </div>
      )}
      <ol class="steps">
        {steps.map(({ rule, outcome, where }) => (
          <li key={rule}>
            <span class={`dot ${TONES[outcome]}`} />
            <span>
              {questionOf(rule)}
              <br />
              <small class="soft">Set in: {where}</small>
            </span>
            <Badge tone={TONES[outcome]}>{ANSWERS[outcome]}</Badge>
          </li>
        ))}
      </ol>
      {claims && (
        <details>
          <summary>What the token would say</summary>
          <JsonText of={claims} what="claims" />
        </details>
      )}
      {id_token && (
        <details>
          <summary>What the ID token would say</summary>
          <JsonText of={id_token} what="claims of the ID token" />
        </details>
      )}
    </div>
  )
}

const questionOf = (rule: string) => QUESTIONS[rule as RuleName]
