// A map between the scopes of two resources, as boxes to check.
import { useContext } from 'preact/hooks'
import { get, segment } from '../../lib/api.ts'
import { useLoad } from '../../lib/load.ts'
import type { ResourceAnswer } from '../../lib/types.ts'
import { Checks } from './checks.tsx'
import { FormContext } from './form_values.ts'

/** The scopes of the resource that a field names. Undefined until it names one. */
function useScopes(slug: string): string[] | undefined {
  const read = async () =>
    slug === '' ? undefined : await get<ResourceAnswer>(`/admin/resources/${segment(slug)}`).catch(() => undefined)
  return useLoad(`scopes ${slug}`, read).data?.scopes.map(({ name }) => name)
}

/** For each scope of the source, a box for each scope of the target. */
export function ScopeMap({ value, onValue }: { value: string; onValue: (value: string) => void }) {
  const { textOf } = useContext(FormContext)
  const [source, target] = [textOf('source') || textOf('source_slug'), textOf('target') || textOf('target_slug')]
  const [from, into] = [useScopes(source), useScopes(target)]
  if (!from || !into) return <p class="soft">Name two resources that exist. Then their scopes are here.</p>
  if (from.length === 0 || into.length === 0)
    return <p class="soft">{from.length === 0 ? source : target} has no scopes. Add them on its page first.</p>
  const map = JSON.parse(value || '{}') as Record<string, string[]>
  const set = (name: string, lines: string) => {
    const { [name]: _, ...others } = map
    const chosen = lines.split('\n').filter(Boolean)
    onValue(JSON.stringify(chosen.length > 0 ? { ...others, [name]: chosen } : others))
  }
  return (
    <div class="members">
      {from.map((name) => (
        <fieldset key={name} class="item">
          <legend>
            <code>{name}</code> allows
          </legend>
          <Checks
            options={into.map((each) => [each, each] as const)}
            value={(map[name] ?? []).join('\n')}
            onValue={(lines) => set(name, lines)}
          />
        </fieldset>
      ))}
    </div>
  )
}
