// The steps of an empty server. Each is ticked when the server has what it is about.
import { useState } from 'preact/hooks'
import { get } from '../lib/api.ts'
import { useLoad } from '../lib/load.ts'
import { href } from '../lib/router.ts'
import type { IssuanceAnswer, ResourceAnswer, Stats } from '../lib/types.ts'
import { Badge, Card } from './text.tsx'

const EVERY_MS = 5000
const HIDDEN = 'service.first-steps'

async function readDone(): Promise<readonly boolean[]> {
  const [stats, resources, { issuances }] = await Promise.all([
    get<Stats>('/admin/stats'),
    get<ResourceAnswer[]>('/admin/resources', { limit: 1 }),
    get<{ issuances: IssuanceAnswer[] }>('/admin/issuances', { limit: 1, since: '720h' }),
  ])
  return [resources.length > 0, stats.users > 0, stats.clients > 0, issuances.length > 0]
}

const STEPS = [
  ['A server', 'Register the MCP server that tokens are for.', ['connect'], 'Connect a server'],
  ['A person', 'Create a user, or set a provider in the configuration.', ['users'], 'Users'],
  ['A client', 'Create one, or let an MCP client register itself.', ['clients'], 'Clients'],
  ['The first token', 'Sign in with a client, or mint a token here.', ['try'], 'Try it'],
] as const

/** The steps, until all are done or the operator hides them. */
export function FirstSteps() {
  const [isHidden, setHidden] = useState(localStorage.getItem(HIDDEN) !== null)
  const { data: done } = useLoad('first steps', readDone, isHidden ? undefined : EVERY_MS)
  if (isHidden || !done || done.every(Boolean)) return null
  const hide = () => {
    localStorage.setItem(HIDDEN, '1')
    setHidden(true)
  }
  return (
    <Card
      title="First steps"
      aside={
        <button type="button" class="quiet" onClick={hide}>
          Hide
        </button>
      }
    >
      <ol class="body steps" aria-label="First steps">
        {STEPS.map(([title, about, place, link], i) => (
          <li key={title}>
            <span class={`dot ${done[i] ? 'good' : ''}`} />
            <span>
              <b>{title}</b>
              <br />
              <small class="soft">{about}</small>
            </span>
            {done[i] ? (
              <Badge tone="good">done</Badge>
            ) : (
              <a class="button" href={href(place)}>
                {link}
              </a>
            )}
          </li>
        ))}
      </ol>
    </Card>
  )
}
