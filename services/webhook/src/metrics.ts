import { defineCount, defineDistribution, defineLevel } from '@svc/telemetry/metrics.ts'

export const attempts = defineCount({
  name: 'agentmsg_webhook_attempts_total',
  help: 'Attempts at deliveries, by result: delivered, status_3xx to status_5xx, timeout, connection, address, expired, secret, void',
  labels: ['result'],
})
attempts.startAt0({
  result: ['status_3xx', 'status_4xx', 'status_5xx', 'timeout', 'connection', 'address', 'expired', 'secret', 'void'],
})

export const attemptSeconds = defineDistribution({
  name: 'agentmsg_webhook_attempt_seconds',
  help: 'From taking a job to the end of the attempt',
  labels: [],
  buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
})

export const outcomes = defineCount({
  name: 'agentmsg_webhook_outcomes_total',
  help: 'State of jobs after an attempt: delivered, retry, failed, postponed',
  labels: ['outcome'],
})
outcomes.startAt0({ outcome: ['failed', 'postponed'] })

export const events = defineCount({
  name: 'agentmsg_webhook_events_total',
  help: 'Events taken from JetStream, by how they were handled: done, again, never',
  labels: ['handled'],
})
events.startAt0({ handled: ['again', 'never'] })

export const inFlight = defineLevel({
  name: 'agentmsg_webhook_in_flight',
  help: 'Jobs that this process holds',
  labels: [],
})

export const oldestDue = defineLevel({
  name: 'agentmsg_webhook_oldest_due_seconds',
  help: 'How long the oldest job has been due; every process reports the same value',
  labels: [],
})

export const consumerLag = defineLevel({
  name: 'agentmsg_webhook_consumer_lag',
  help: 'Events of JetStream that no process has finished; every process reports the same value, and none while JetStream is down',
  labels: [],
})

export const madeUp = defineCount({
  name: 'agentmsg_webhook_made_up_total',
  help: 'Jobs made from entries of the logs, because JetStream had forgotten their events or had not delivered them yet',
  labels: [],
})

export const covered = defineLevel({
  name: 'agentmsg_webhook_covered_seconds',
  help: 'Time since the start of the last complete comparison with the logs. Messages accepted before that have their jobs; every process reports the same value',
  labels: [],
})

export const acceptedToAttempt = defineDistribution({
  name: 'agentmsg_accepted_to_attempt_seconds',
  help: 'From the acceptance of a message to the first request to the webhook; counted again if the process dies during it',
  labels: [],
  buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300],
})

export const acceptedToDelivered = defineDistribution({
  name: 'agentmsg_accepted_to_delivered_seconds',
  help: 'From the acceptance of a message to the answer 2xx of the webhook, retries included',
  labels: [],
  buckets: [0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60, 300, 1_800, 7_200, 43_200],
})
