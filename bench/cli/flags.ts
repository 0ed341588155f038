// Parsers of the flags of `service bench` and `service plan`.
import { InvalidArgumentError, Option } from 'commander'
import { parseDuration } from '../../src/lib/time.ts'

/** Turns a parser into one for commander: an error that it throws is a usage error before anything starts. */
export const reading =
  <R>(read: (text: string) => R) =>
  (text: string): R => {
    try {
      return read(text)
    } catch (error) {
      throw new InvalidArgumentError((error as Error).message)
    }
  }
/** A number within bounds. */
export const numberIn = (min: number, max: number) =>
  reading((text) => {
    const value = Number(text)
    if (text.trim() === '' || !(value >= min && value <= max))
      throw new Error(`Expected a number from ${min} to ${max}.`)
    return value
  })
/** A list of these words, separated by commas. */
export const wordsOf = <W extends string>(words: readonly W[]) =>
  reading((text) => {
    const chosen = words.filter((word) => text.split(',').includes(word))
    if (chosen.length !== text.split(',').length) throw new Error(`Expected a list of ${words.join(', ')}.`)
    return chosen
  })
/** A duration, in milliseconds. */
const millis = reading((text) => {
  const seconds = parseDuration(text)
  if (!seconds) throw new Error('Expected a duration such as 25ms.')
  return seconds * 1000
})

/** The flag `--slo-p99` of both commands. Help shows the default with its unit, in the form that users must write. */
export const sloFlag = (doc: string): Option =>
  new Option('--slo-p99 <duration>', doc).argParser(millis).default(25, '25ms')
