import { defineCount, defineLevel } from '@svc/telemetry/metrics.ts'

export const streamsOpen = defineLevel({
  name: 'agentmsg_streams_open',
  help: 'Streams that are open in this process',
  labels: [],
})

export const streamsRoom = defineLevel({
  name: 'agentmsg_streams_room',
  help: 'How many more streams this process takes',
  labels: [],
})

export const streamLeases = defineLevel({
  name: 'agentmsg_stream_leases',
  help: 'Leases that this process keeps: of streams that are open, and of those that wait to be fetched',
  labels: [],
})

export const streamsBehind = defineLevel({
  name: 'agentmsg_streams_most_behind',
  help: 'Events that the stream which lacks most has not written yet; slow clients count',
  labels: [],
})

export const headsRead = defineLevel({
  name: 'agentmsg_stream_heads_read_seconds',
  help: 'Since the heads of the logs were last read: longer than some seconds is a process that only hears',
  labels: [],
})

export const eventsWritten = defineCount({
  name: 'agentmsg_stream_events_total',
  help: 'Events that were written to streams, by where they came from: heard, history',
  labels: ['source'],
})
