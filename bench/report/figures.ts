// Figures for people, and their middle.

const grouped = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 })
/** A figure with so many digits behind the point, thousands in groups where there are none; `-` for one that is not known. */
export const digits = (value: number | null | undefined, count: number): string =>
  value === null || value === undefined || !Number.isFinite(value)
    ? '-'
    : count === 0
      ? grouped.format(value)
      : value.toFixed(count)

/** The middle of some numbers; of an even count the mean of the two in the middle. */
export function median(numbers: readonly number[]): number {
  const sorted = [...numbers].sort((a, b) => a - b)
  const middle = sorted.length / 2
  return ((sorted[Math.ceil(middle) - 1] as number) + (sorted[Math.floor(middle)] as number)) / 2
}

/** A figure without digits behind the point. */
export const whole = (value: number | null | undefined): string => digits(value, 0)
