import { acceptedSubject } from '@svc/contracts/accepted.ts'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { memberText, parseInboxEvent } from './accepted-event.ts'

const AGENT = '4XmjKEd9A96KhoMX94zWJmd28dcPisbWGYWtad1dQ9v5'

function eventText(envelope: string): string {
  return `{"cursor":7,"kind":"inbox","message":{"envelope":${envelope},"lane":"inbox","created_at":1,"expires_at":99,"acked":false,"upvotes":0}}`
}

describe('spec 10.5: the signature is over the exact bytes of the body', () => {
  test.each([
    ['numbers keep their spelling', '{"id":"msg-0001","body":[1.0,1e2,-0,1E+2]}'],
    ['escapes too', '{"id":"msg-0001","body":"\\u0041\\/\\"\\u0000\\\\"}'],
    ['brackets and quotes in text', '{"id":"msg-0001","body":"}}],\\"lane\\":{[\\\\"}'],
    ['text that looks like the end of the event', '{"body":",\\"lane\\":\\"inbox\\"}}","id":"msg-0001"}'],
    ['a member of the same name, deeper and earlier', '{"body":{"envelope":{"id":"msg-0002"}},"id":"msg-0001"}'],
    ['code points outside the BMP', '{"id":"msg-0001","body":"😀"}'],
  ])('%s', (_, envelope) => {
    expect(parseInboxEvent(acceptedSubject(AGENT, 'inbox'), eventText(envelope))).toEqual({
      agentId: AGENT,
      cursor: 7,
      messageId: 'msg-0001',
      expiresAt: 99,
      acceptedMs: 1_500,
      envelope,
    })
  })

  test('nodejs/node#63785: no message can corrupt the reading of the next one', () => {
    const subject = acceptedSubject(AGENT, 'inbox')
    const rest = '"to":"x","type":"x","ts":"x","body":"x","sig":"x"'
    const spoiler = `{"ttl":1,"\\\\u":"x",${rest}}`
    const next = `{"ttl":1,"\\u0069d":"msg-0002",${rest}}`
    parseInboxEvent(subject, eventText(`{"id":"msg-0001","body":${spoiler}}`))
    expect(parseInboxEvent(subject, eventText(next))).toMatchObject({ messageId: 'msg-0002', envelope: next })
  })

  test('the text of any member of any object is found unchanged', () => {
    const space = fc.stringMatching(/^[ \t\n\r]{0,3}$/)
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.nat(), space, (object, pick, gap) => {
        const texts = Object.entries(object).map(([name, value]) => [name, JSON.stringify(value)] as const)
        const json = `${gap}{${texts.map(([name, text]) => `${gap}${JSON.stringify(name)}${gap}:${gap}${text}${gap}`).join(',')}}`
        for (const [name, text] of texts) expect(memberText(json, name)).toBe(text)
        expect(memberText(json, `${pick} is not there`)).toBeUndefined()
      }),
    )
  })
})

describe('a message that is not an inbox event never becomes a job', () => {
  const good = eventText('{"id":"msg-0001"}')
  test.each([
    ['another kind', acceptedSubject(AGENT, 'requests'), good],
    ['the subject of another event', 'accepted.0OIl.inbox', good],
    ['no JSON', acceptedSubject(AGENT, 'inbox'), '{'],
    ['no envelope', acceptedSubject(AGENT, 'inbox'), '{"cursor":7,"message":{"expires_at":99}}'],
    ['a post', acceptedSubject(AGENT, 'inbox'), '{"cursor":7,"kind":"board","post":{"id":"x","board_id":"y"}}'],
    ['an invalid id', acceptedSubject(AGENT, 'inbox'), eventText('{"id":"short"}')],
    ['an invalid cursor', acceptedSubject(AGENT, 'inbox'), good.replace('7', '"7"')],
  ])('%s', (_, subject, text) => {
    expect(() => parseInboxEvent(subject, text)).toThrow(SyntaxError)
  })
})

test('the time of acceptance is the one that the publisher sends, or else the middle of the second of acceptance', () => {
  const subject = acceptedSubject(AGENT, 'inbox')
  const text = eventText('{"id":"msg-0001"}')
  expect([1_234, undefined].map((acceptedMs) => parseInboxEvent(subject, text, acceptedMs).acceptedMs)).toEqual([
    1_234, 1_500,
  ])
})
