import { defineLevel } from '@svc/telemetry/metrics.ts'

export const outboxOldest = defineLevel({
  name: 'svc_outbox_oldest_seconds',
  help: 'Since the commit of the oldest event that is not published; every process says the same',
  labels: [],
})

export const streamBytes = defineLevel({
  name: 'svc_jetstream_bytes',
  help: 'Bytes that the stream ACCEPTED holds; every process says the same, and nothing while JetStream is away',
  labels: [],
})

export const streamMaxBytes = defineLevel({
  name: 'svc_jetstream_max_bytes',
  help: 'Bytes past which the stream ACCEPTED drops its oldest events; every process says the same',
  labels: [],
})
