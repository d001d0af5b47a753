import type { Logger } from '@svc/telemetry/logger.ts'
import { defineCount } from '@svc/telemetry/metrics.ts'
import { sayOnce } from '@svc/telemetry/problem-log.ts'
import type { Msg, NatsConnection, SubscriptionOptions } from 'nats'
import { isReplyTo } from './wire/inbox.ts'

const strayCalls = defineCount({
  name: 'agentmsg_stray_calls_total',
  help: 'Messages that were ignored, because their reply subject is not an inbox for answers of this service',
  labels: [],
})

/**
 * A view of the connection that drops each message that asks for an answer elsewhere than in an inbox (wire/inbox.ts), or for
 * none, before anything is done. It covers what the package `nats` answers by itself (`$SRV.PING`) too. A message of a stream
 * that republishes has no reply subject, so it is never taken for a call.
 */
export function answeringOnlyInboxes(connection: NatsConnection, name: string, logger: Logger): NatsConnection {
  const mayAnswer = isReplyTo(name)
  const warn = sayOnce((text) => logger.warn(text))
  const subscribe = (subject: string, { callback, ...options }: SubscriptionOptions = {}) =>
    connection.subscribe(subject, {
      ...options,
      callback: (error, message: Msg) => {
        if (error !== null || mayAnswer(message.reply)) return callback?.(error, message)
        strayCalls.add({})
        warn(
          `a message on ${subject} was ignored, because its reply subject is not an inbox for answers of ${name}. ` +
            'Services never send one: find out who else has a login of NATS.',
        )
      },
    })
  return Object.create(connection, { subscribe: { value: subscribe } })
}
