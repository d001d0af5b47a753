import type { Envelope } from '@svc/contracts/resources.ts'
import { expect, test } from 'vitest'
import { linksOf } from './turn-links.ts'

const of = (id: string, type: Envelope['type'] = 'event', reply_to?: string): Envelope =>
  ({ id, type, ...(reply_to === undefined ? {} : { reply_to }) }) as Envelope

test.each([
  { why: 'an event stands alone', all: [of('a')], links: {} },
  {
    why: 'a request and its response name each other',
    all: [of('a', 'request'), of('b', 'response', 'a')],
    links: {
      a: { kind: 'request', answers: undefined, answeredBy: 'b' },
      b: { kind: 'response', answers: 'a', answeredBy: undefined },
    },
  },
  {
    why: 'an error is an answer too',
    all: [of('a', 'request'), of('x'), of('b', 'error', 'a')],
    links: {
      a: { kind: 'request', answers: undefined, answeredBy: 'b' },
      b: { kind: 'error', answers: 'a', answeredBy: undefined },
    },
  },
  {
    why: 'a response to what is not here',
    all: [of('b', 'response', 'gone')],
    links: { b: { kind: 'response', answers: undefined, answeredBy: undefined } },
  },
  { why: 'a reply to the message just above it', all: [of('a'), of('b', 'event', 'a')], links: {} },
  {
    why: 'a reply to an earlier message',
    all: [of('a'), of('x'), of('b', 'event', 'a')],
    links: { b: { kind: 'reply', answers: 'a', answeredBy: undefined } },
  },
])('$why', ({ all, links }) => {
  expect(Object.fromEntries(linksOf(all))).toEqual(links)
})
