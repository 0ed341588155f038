// The scenario `scaling`: the service on a growing number of processors, and with a growing number of front threads.
import { spawnSync } from 'node:child_process'
import { CORES } from '../../src/telemetry/proc.ts'

/** The processors and front threads of a measured service. */
export interface ServerShape {
  processors: number
  frontThreads: number
}

export const SCALING = { name: 'scaling', works: ['client_credentials', 'refresh_token'], seconds: 6 }

const MOST_FRONT_THREADS = 16
/** One front thread for every two processors, as the documentation recommends. */
const recommended = (processors: number) => Math.max(1, Math.min(MOST_FRONT_THREADS, Math.floor(processors / 2)))

/** The shapes for a machine: all of its processors with 1, 2 and 4 front threads and the recommended number, and each power of two below. */
export function shapesFor(cores: number): ServerShape[] {
  const all = [...new Set([recommended(cores), 1, 2, 4])].map((frontThreads) => ({ processors: cores, frontThreads }))
  const powers = Array.from({ length: Math.ceil(Math.log2(cores)) }, (_, power) => 2 ** power)
  return [...all, ...powers.map((processors) => ({ processors, frontThreads: recommended(processors) }))]
}

export const shapeName = ({ processors, frontThreads }: ServerShape): string =>
  `service, ${processors} processor${processors > 1 ? 's' : ''}, ${frontThreads} front thread${frontThreads > 1 ? 's' : ''}`

/** The processors of a shape, as a list for taskset. */
export const processorsOf = ({ processors }: ServerShape): string => `0-${processors - 1}`

/** Enough to keep the processors busy. With more, a server of one processor refuses requests. */
export const connectionsFor = ({ processors }: ServerShape): number => 32 * processors

/** The other processors, on which the load generator runs. Undefined when there are none: it then shares those of the service. */
export const restOf = ({ processors }: ServerShape, cores = CORES): string | undefined =>
  processors < cores ? `${processors}-${cores - 1}` : undefined

export const hasTaskset = (): boolean => spawnSync('taskset', ['--version']).status === 0
