import { defineCount, defineDistribution, defineLevel } from '@svc/telemetry/metrics.ts'

export const streamsOpen = defineLevel({
  name: 'agentmsg_streams_open',
  help: 'Open streams of this process',
  labels: [],
})

export const streamsRoom = defineLevel({
  name: 'agentmsg_streams_room',
  help: 'How many more streams this process can take',
  labels: [],
})

export const streamLeases = defineLevel({
  name: 'agentmsg_stream_leases',
  help: 'Leases of this process: of open streams, and of streams that wait to be fetched',
  labels: [],
})

export const streamsBehind = defineLevel({
  name: 'agentmsg_streams_most_behind',
  help: 'Events that the most delayed stream has not written yet; slow clients count',
  labels: [],
})

export const headsRead = defineLevel({
  name: 'agentmsg_stream_heads_read_seconds',
  help: 'Time since the heads of the logs were last read, normally under 2 s. Without these reads, lost events stay unnoticed',
  labels: [],
})

export const eventsWritten = defineCount({
  name: 'agentmsg_stream_events_total',
  help: 'Events written to streams, by source: heard, history',
  labels: ['source'],
})

export const acceptedToStream = defineDistribution({
  name: 'agentmsg_accepted_to_stream_seconds',
  help: 'From the acceptance of an event to its writing, for streams that had caught up and readers that kept up, by source: heard, history',
  labels: ['source'],
  buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
})
