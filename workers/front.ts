// A front thread of a process that has several of them.
import { parentPort, workerData } from 'node:worker_threads'
import { nameThread } from '../src/lib/threads/thread_name.ts'
import { runFront } from '../src/server/front_thread.ts'
import type { FrontData } from '../src/server/supervisor_handlers.ts'

nameThread('front')
if (parentPort) void runFront(parentPort, workerData as FrontData)
