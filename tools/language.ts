// The word list of the project's language (CONTRIBUTING.md, Rules): forms that readers cannot search for, each with the standard form.
import type { Titled } from './security/titles.ts'
import type { SourceFile } from './shape.ts'

/** A form as a regular expression, without regard to case; a space matches any break, also of a comment's line. */
const FORMS: Readonly<Record<string, string>> = {
  whoever: 'the role: "a client that", "everyone who"',
  'so many': '"the number of", "at most"',
  '(is|are|was|were|be|being) had': 'obtained, available, known',
  'had (from|again)|or had by': 'obtained from, renewed',
  'who (is|are|has|have) not': 'a sentence with "if" or "unless"',
  '(?<=[.!?*/#] )of an? \\w+ (that|which|who)': 'the subject first',
  'in the place of': '"replaces", "instead of"',
  'a crowd': 'overload, concurrent requests',
  'by (itself|themselves|himself)': '"automatically", "alone", "on its own"',
  'hears? (of|from)': '"receives", "is notified of"',
  '(is|are|was|were|be|being|unless|not) told(?! apart)': '"receives", "is notified", "is informed"',
  'what others': 'the name of the part: "gauges", "other instances"',
  'as (it|they) stands?': '"unchanged", "verbatim"',
  'nobody waits': '"not awaited"',
  'looks? whether': '"checks whether"',
  'the way (in|out)': '"sign-in", "entry", "exit", "response"',
  hub: 'supervisor, or front pool',
  '\\w*Wire(?=\\()': 'rpc, connection, socket',
  news: 'invalidation',
  'lets? (in|out)': '"admits", "sends"',
  'meant for': '"intended for"',
  'sa(id|ys?) so': 'what is said: "states that", "documents"',
  anew: '"again"',
  '\\w*patience\\w*': 'timeout, limit, retries',
  'in vain': '"without effect"',
  '(of|for|by|to) who (asks|is|has)': '"the caller"',
  'without a word': '"without documentation", "silently"',
  'for a person': '"human-readable"',
  '(is|are) let': '"may", "is admitted"',
  'taken away': '"removed", "revoked"',
  'given back': '"returned"',
  '(goes|go) on': '"continues", "proceeds"',
  '(no|some|any|every)body': 'the role: "a client", "another user", "no request"',
  '(?<!there )(is|are) no (user|person|client|text|json|secret|fault|part|key|leak|logo|credential|limit)':
    '"is not a …"',
  'strangers?': '"unknown clients", "other users", "unknown members"',
  'wins? over': '"takes precedence over"',
  'for good': '"permanently"',
  'the other way round': 'both directions, spelled out',
  'only so (often|many|much)': '"at most"',
}

/** Files that a form does not apply to: the Unix user `nobody`, and the report of a finished review. */
const SPARED: Readonly<Record<string, RegExp>> = {
  '(no|some|any|every)body': /^(bench\/peers\/postgres_server\.ts|docs\/security\/review\.md)$/,
}

/** Forms that a test title must not have either: a title names the actor and the expected result. */
const TITLE_FORMS: Readonly<Record<string, string>> = {
  '(is|are) told(?! apart)': '"receives", "is notified"',
  'lets? in': '"admits", "accepts"',
  'as ever': '"still", "unchanged"',
}

const patternsOf = (forms: Readonly<Record<string, string>>) =>
  Object.entries(forms).map(([form, standard]) => ({
    standard,
    spared: SPARED[form],
    pattern: new RegExp(`(?<!\\w)(?:${form.replaceAll(' ', '[\\s*/#]+')})(?!\\w)`, 'gi'),
  }))
const PATTERNS = patternsOf(FORMS)
const TITLE_PATTERNS = patternsOf({ ...FORMS, ...TITLE_FORMS })

/** Every form of the list in these files, with its line and what to write instead. */
export const languageFaults = (files: readonly SourceFile[], patterns = PATTERNS): string[] =>
  files.flatMap(({ file, text }) =>
    patterns.flatMap(({ pattern, standard, spared }) =>
      [...(spared?.test(file) ? [] : text.matchAll(pattern))].map(({ 0: found, index }) => {
        const line = text.slice(0, index).split('\n').length
        return `${file}:${line}: "${found.replace(/[\s*/#]+/g, ' ')}": write ${standard}`
      }),
    ),
  )

/** Every form of the list for titles in these titles of tests. */
export const titleFaults = (titles: readonly Titled[]): string[] =>
  titles.flatMap(({ file, title }) => languageFaults([{ file: `${file} (${title})`, text: title }], TITLE_PATTERNS))
