// Numbers as they are printed.

const grouped = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 })
/** A number with `count` decimals; without decimals, thousands are grouped. `-` when it is unknown. */
export const digits = (value: number | null | undefined, count: number): string =>
  value === null || value === undefined || !Number.isFinite(value)
    ? '-'
    : count === 0
      ? grouped.format(value)
      : value.toFixed(count)

/** A number without decimals. */
export const whole = (value: number | null | undefined): string => digits(value, 0)
