import { defineCount, defineDistribution, defineLevel } from '@svc/telemetry/metrics.ts'

/** Labelled by operation and never by path, because clients choose paths, and each new label value takes memory. */
export const httpRequests = defineCount({
  name: 'agentmsg_http_requests_total',
  help: 'Answered requests, by operation, status, and code: ok or the code of the error',
  labels: ['operation', 'status', 'code'],
})

export const httpSeconds = defineDistribution({
  name: 'agentmsg_http_request_seconds',
  help: 'From the head of a request to its answer; for a stream, to its first byte',
  labels: ['operation'],
})

export const httpUnderWay = defineLevel({
  name: 'agentmsg_http_under_way',
  help: 'Requests without an answer yet',
  labels: [],
})

export const httpConnections = defineLevel({
  name: 'agentmsg_http_connections',
  help: 'Connections of clients',
  labels: [],
})

export const httpMaxConnections = defineLevel({
  name: 'agentmsg_http_max_connections',
  help: 'Maximum number of connections; past it, an idle connection is closed for each new one',
  labels: [],
})

export const httpRefused = defineCount({
  name: 'agentmsg_http_refused_total',
  help: 'Connections whose bytes were no valid request, by fault',
  labels: ['reason'],
})
httpRefused.startAt0({ reason: ['connect', 'timeout', 'headers', 'reset', 'not_http'] })

export const httpClosed = defineCount({
  name: 'agentmsg_http_closed_total',
  help: 'Connections that were closed to protect others, by reason: slow_reader, unsent (answers hold too much), crowded (too many connections), pipelined (too many requests waited, and those of its client had waited longest in sum)',
  labels: ['reason'],
})
httpClosed.startAt0({ reason: ['slow_reader', 'unsent', 'crowded', 'pipelined'] })

export const httpUnsent = defineLevel({
  name: 'agentmsg_http_unsent_bytes',
  help: 'Memory that answers hold until clients take them',
  labels: [],
})

export const openStreams = defineLevel({
  name: 'agentmsg_gateway_streams',
  help: 'Event streams that pass through this gateway',
  labels: [],
})

export const knownGateways = defineLevel({
  name: 'agentmsg_gateway_known',
  help: 'Gateways that share request rates, as far as this one knows, itself included',
  labels: [],
})

export const cachedEntries = defineLevel({
  name: 'agentmsg_gateway_cached',
  help: 'Entries in memory: keys, names, and clients of each rate limit',
  labels: ['cache'],
})
