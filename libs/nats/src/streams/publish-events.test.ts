import { createLogger } from '@svc/telemetry/logger.ts'
import { expect, test } from 'vitest'
import type { Nats } from '../connect.ts'
import { MAX_UNCONFIRMED_CHARACTERS } from '../wire/send-window.ts'
import { createPublishEvents } from './publish-events.ts'

test('while the link is silent, events are kept in memory only up to the send window', () => {
  const sent: string[] = []
  const connection = {
    publish: (_subject: string, text: string) => sent.push(text),
    flush: () => new Promise(() => {}),
  } as unknown as Nats['connection']
  const publish = createPublishEvents({ connection } as Nats, createLogger('test', 'silent'))
  const event = { subject: 'accepted.agent.inbox', text: 'x'.repeat(1024 * 1024), acceptedMs: 1 }
  for (let events = 0; events < 100; events += 1) publish([event])
  expect(sent.join('').length).toBe(MAX_UNCONFIRMED_CHARACTERS)
})
