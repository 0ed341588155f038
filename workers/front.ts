// A front thread of a process that has several of them.
import { parentPort, workerData } from 'node:worker_threads'
import { runFront } from '../src/front_thread.ts'
import type { FrontData } from '../src/hub.ts'
import { nameThread } from '../src/lib/thread_name.ts'

nameThread('front')
if (parentPort) await runFront(parentPort, workerData as FrontData)
