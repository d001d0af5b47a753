import { defineCount, defineLevel } from '@svc/telemetry/metrics.ts'

/** Counts how passes of loops end. After a pass that failed or hung, the loop starts another pass. */
export const loopPasses = defineCount({
  name: 'agentmsg_loop_passes_total',
  help: 'Ended passes of background loops, by outcome: ok, failed, hung',
  labels: ['loop', 'outcome'],
})

export const loopStalled = defineLevel({
  name: 'agentmsg_loop_stalled',
  help: '1 if no pass of a loop has ended for a long time',
  labels: ['loop'],
})
