// Versions of the service.

/** Whether a version (MAJOR.MINOR.PATCH, a suffix is ignored) is older than another one. */
export function isOlderVersion(version: string, than: string): boolean {
  const [mine, theirs] = [numbersOf(version), numbersOf(than)]
  const differs = mine.findIndex((number, i) => number !== theirs[i])
  return differs >= 0 && (mine[differs] as number) < (theirs[differs] as number)
}

const numbersOf = (version: string): number[] => [0, 1, 2].map((i) => Number.parseInt(version.split('.')[i] ?? '0', 10))
