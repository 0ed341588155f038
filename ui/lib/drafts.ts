// Work in forms that is kept over a new sign-in: when the session ends, what was typed waits in this tab for the same operator.

type Values = Readonly<Record<string, string | boolean>>
/** The changed values of a form, and which kind of item it makes. */
export interface Draft {
  kind?: string
  values: Values
}

const KEY = 'service.drafts'
/** Fields that are never kept: they are or may contain secrets. So may the path of a URL that events are sent to. */
const SECRET = /password|secret|assertion|^(token|key|jwks|config_data|delivery|url)$/
/** Characters of all drafts. A larger form is not kept. */
const MAX_CHARS = 64 * 1024

/** The forms on the page, by their keys. */
const open = new Map<string, () => Draft>()
/** What was kept for forms that are not open yet. */
const kept = new Map<string, Draft>()

/** The key of a form: the same title and item, at the same address. */
export const formKey = (title: string, params: Readonly<Record<string, string>> = {}): string =>
  JSON.stringify([window.location.pathname, title, params])

/** Makes a form known while it is open. `changed` returns its changed values. Returns the function that forgets it. */
export function watchForm(key: string, changed: () => Draft): () => void {
  open.set(key, changed)
  return () => void open.delete(key)
}

/** Keeps the unsaved work of the open forms, without secrets. */
export function keepForms(actor_id: string): void {
  const forms: [string, Draft][] = []
  let chars = 0
  for (const [key, changed] of open) {
    const { kind, values } = changed()
    const harmless = Object.entries(values).filter(([name]) => !SECRET.test(name))
    const draft = { kind, values: Object.fromEntries(harmless) }
    chars += JSON.stringify(draft).length
    if (harmless.length > 0 && chars <= MAX_CHARS) forms.push([key, draft])
  }
  if (forms.length > 0) sessionStorage.setItem(KEY, JSON.stringify({ actor_id, forms }))
}

/** Gives the kept work back to the operator who typed it. The work of another one is forgotten. */
export function restoreForms(actor_id: string): void {
  const text = sessionStorage.getItem(KEY)
  sessionStorage.removeItem(KEY)
  kept.clear()
  const found = text ? (JSON.parse(text) as { actor_id: string; forms: [string, Draft][] }) : undefined
  if (found?.actor_id === actor_id) for (const [key, draft] of found.forms) kept.set(key, draft)
}

/** The kept work of a form, once. */
export function takeDraft(key: string): Draft | undefined {
  const draft = kept.get(key)
  kept.delete(key)
  return draft
}
