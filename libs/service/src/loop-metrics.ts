import { defineCount, defineLevel } from '@svc/telemetry/metrics.ts'

/** How passes of loops end. A loop that failed or hung begins anew. */
export const loopPasses = defineCount({
  name: 'svc_loop_passes_total',
  help: 'Passes of background loops that have ended, by how: ok, failed, hung',
  labels: ['loop', 'outcome'],
})

export const loopStalled = defineLevel({
  name: 'svc_loop_stalled',
  help: '1 where no pass of a loop has ended for long',
  labels: ['loop'],
})
