import { defineLevel } from '@svc/telemetry/metrics.ts'

export const streamBytes = defineLevel({
  name: 'agentmsg_jetstream_bytes',
  help: 'Bytes in the stream ACCEPTED; every process reports the same value, and none while JetStream is down',
  labels: [],
})

export const streamMaxBytes = defineLevel({
  name: 'agentmsg_jetstream_max_bytes',
  help: 'Bytes past which the stream ACCEPTED drops its oldest events; every process reports the same value',
  labels: [],
})
