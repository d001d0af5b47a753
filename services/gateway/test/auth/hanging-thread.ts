/** A thread that takes every signature and never answers. */
import { workerData } from 'node:worker_threads'
import { VerifyRing } from '../../src/auth/verify-ring.ts'

const ring = new VerifyRing(workerData as SharedArrayBuffer)
for (;;) if (ring.take() === undefined) ring.sleep()
