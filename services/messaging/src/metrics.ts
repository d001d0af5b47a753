import { defineLevel } from '@svc/telemetry/metrics.ts'

export const outboxOldest = defineLevel({
  name: 'svc_outbox_oldest_seconds',
  help: 'Since the commit of the oldest event that is not published; every process says the same',
  labels: [],
})
