/** A thread that takes a signature and ends. */
import { workerData } from 'node:worker_threads'
import { VerifyRing } from '../../src/auth/verify-ring.ts'

const ring = new VerifyRing(workerData as SharedArrayBuffer)
while (ring.take() === undefined) ring.sleep()
throw new Error('this thread fails')
