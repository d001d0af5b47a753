import { defineCount, defineLevel } from '@svc/telemetry/metrics.ts'

/** Counts how passes of loops end. After a pass that failed or hung, the loop starts another. */
export const loopPasses = defineCount({
  name: 'agentmsg_loop_passes_total',
  help: 'Passes of background loops that have ended, by how: ok, failed, hung',
  labels: ['loop', 'outcome'],
})

export const loopStalled = defineLevel({
  name: 'agentmsg_loop_stalled',
  help: '1 where no pass of a loop has ended for long',
  labels: ['loop'],
})
