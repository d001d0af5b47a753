import { describe, expect, test } from 'vitest'
import { isReplyTo, openInbox } from './inbox.ts'

const PROCESS = '0123456789ABCDEFGHIJKL'

describe('a reply subject', () => {
  test('names its callee, and has a token of 122 random bits that no earlier one reveals', () => {
    const inbox = openInbox({ inboxPrefix: '_INBOX_gateway' })
    const subjects = Array.from({ length: 1_000 }, () => inbox.replyFrom('identity'))
    for (const subject of subjects)
      expect(subject).toMatch(
        /^_INBOX_gateway\.identity\.[0-9A-Z]{22}\.[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
      )
    expect(new Set(subjects.map((subject) => subject.slice(-36, -24))).size).toBe(1_000)
  })

  test.each([
    '_INBOX_gateway.budget.P.T',
    '_INBOX_admin.budget.one-token',
    openInbox({ inboxPrefix: '_INBOX_webhook' }).replyFrom('budget'),
    openInbox({ inboxPrefix: '_INBOX' }).replyFrom('budget'),
  ])('budget answers on %s', (subject) => {
    expect(isReplyTo('budget')(subject)).toBe(true)
  })

  test.each([
    undefined,
    '',
    'accepted.agent.inbox',
    '$JS.API.STREAM.UPDATE.ACCEPTED',
    '$JS.ACK.ACCEPTED.webhook.1.1.1.1.1',
    '$SRV.PING',
    'svc.budget.reserve',
    'svc.gateway.presence',
    'admin.budget.grant-credits',
    '_INBOX_gateway',
    '_INBOX_gateway.',
    '_INBOX_gateway.budget',
    '_INBOX_gateway.budget.',
    '_INBOX_gateway.budget..T',
    '_INBOX_gateway.identity.P.T',
    '_INBOX_gateway.budget.*.T',
    '_INBOX_gateway.budget.>',
    '_INBOX_gateway.>',
    '_INBOX_gateway.budget.P.T x',
    '_INBOX_gateway.budget.P.T\r\nPUB accepted.agent.inbox 0',
    'x._INBOX_gateway.budget.P.T',
    '_INBOX_gateway.x.17',
    `_INBOX_gateway.${PROCESS}.17`,
    `_INBOX_gateway.${PROCESS}.17.18`,
  ])('budget does not answer on %j', (subject) => {
    expect(isReplyTo('budget')(subject)).toBe(false)
  })
})
