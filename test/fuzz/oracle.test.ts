/**
 * An invisible thing gets the same answer as an absent one: the same 404, byte for byte except the request id and the date.
 * Otherwise clients could learn which private boards, hidden posts and messages of others exist. Source: spec 7.16, 3.11,
 * 6.2, 6.9, 8.2, 8.9.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Agent, call, type HttpAnswer } from '../support/client/agent.ts'
import { got } from '../support/client/answers.ts'
import { ABSENT_BOARD_ID, ABSENT_MESSAGE_ID } from '../support/description/operations.ts'
import { shareHarness } from '../support/system/harness.ts'
import { type Scene, startScene } from './scene.ts'

let scene: Scene
let banned: Agent
beforeAll(async () => {
  scene = await startScene(await shareHarness('roomy'))
  const { h, alice, publicBoard, privateBoard } = scene
  ;[banned] = await h.agents(1)
  for (const board of [publicBoard, privateBoard]) {
    await got(alice.put(`/v2/boards/${board}/members/${banned.id}`, { role: 'banned' }))
  }
})
afterAll(() => scene?.[Symbol.asyncDispose]())

type Caller = 'anonymous' | 'stranger' | 'banned'

function ask(caller: Caller, method: string, path: string, body?: unknown): Promise<HttpAnswer> {
  const options = body === undefined ? {} : { body }
  if (caller === 'anonymous') return call(scene.h.place, method, path, options)
  return (caller === 'banned' ? banned : scene.stranger).call(method, path, options)
}

/** Everything that a client sees of an answer, except the parts that differ each time. */
function bytesOf({ status, headers, text }: HttpAnswer): unknown {
  const others = [...headers].filter(([name]) => name !== 'x-request-id' && name !== 'date')
  return { status, headers: others, text }
}

/** Signed or not: if a signature is required, an unsigned client gets the same error for absent and invisible things. */
const CALLERS: Caller[] = ['anonymous', 'stranger', 'banned']

describe('spec 7.16, 8.2, 8.9: an invisible message is like an absent one', () => {
  const OPERATIONS = [
    ['GET', ''],
    ['POST', '/ack'],
    ['GET', '/receipts'],
    ['PUT', '/vote'],
    ['DELETE', '/vote'],
  ] as const

  test.each(CALLERS.flatMap((caller) => OPERATIONS.map(([method, end]) => [caller, method, end] as const)))(
    'spec 3.11, 7.16: %s: %s /v2/messages/{id}%s',
    async (caller, method, end) => {
      const path = (id: string): string => `/v2/messages/${id}${end}`
      const absent = bytesOf(await ask(caller, method, path(ABSENT_MESSAGE_ID)))
      expect(absent).toMatchObject({ status: caller === 'anonymous' && (method !== 'GET' || end !== '') ? 401 : 404 })
      const { dm, privatePost, hiddenPost } = scene
      // No id at all, a malformed id, a direct message of others, a post on a private board, a hidden post.
      for (const id of ['0'.repeat(80), 'short', '%00', dm, privatePost, hiddenPost]) {
        expect({ id, answer: bytesOf(await ask(caller, method, path(id))) }).toEqual({ id, answer: absent })
      }
    },
  )

  test('spec 8.9: for its author too, a hidden post is like an absent one', async () => {
    const { bob, hiddenPost } = scene
    for (const [method, end] of OPERATIONS) {
      const absent = bytesOf(await bob.call(method, `/v2/messages/${ABSENT_MESSAGE_ID}${end}`))
      expect(bytesOf(await bob.call(method, `/v2/messages/${hiddenPost}${end}`))).toEqual(absent)
    }
  })
})

describe('spec 7.16, 8.2: a private board is like an absent one', () => {
  test.each(
    CALLERS.flatMap((caller) =>
      [
        ['GET', '', undefined],
        ['GET', '/members', undefined],
        ['GET', '/messages', undefined],
        ['GET', '/messages?limit=1&thread_id=absent-message', undefined],
        ['PUT', '/members/{self}', { role: 'reader' }],
        ['PUT', '/members/{self}', { role: 'none' }],
        ['PUT', '/members/{other}', { role: 'banned' }],
        ['PUT', '/messages/{post}/visibility', { hidden: true }],
      ].map(([method, end, body]) => [caller, method as string, end as string, body] as const),
    ),
  )('spec 3.11, 8.2: %s: %s /v2/boards/{board}%s %j', async (caller, method, end, body) => {
    const { stranger, alice, privateBoard, privatePost } = scene
    const self = caller === 'banned' ? banned.id : stranger.id
    const rest = end.replace('{self}', self).replace('{other}', alice.id).replace('{post}', privatePost)
    const absent = bytesOf(await ask(caller, method, `/v2/boards/${ABSENT_BOARD_ID}${rest}`, body))
    const isPublic = method === 'GET' && end !== '/members'
    expect(absent).toMatchObject({ status: caller === 'anonymous' && !isPublic ? 401 : 404 })
    for (const board of ['z'.repeat(40), 'short', 'UPPERCASEUPPERCASEUPPER', privateBoard]) {
      const answer = bytesOf(await ask(caller, method, `/v2/boards/${board}${rest}`, body))
      expect({ board, answer }).toEqual({ board, answer: absent })
    }
  })

  test.each(['stranger', 'banned'] as const)('spec 8.4: a post by a %s', async (caller) => {
    const agent = caller === 'banned' ? banned : scene.stranger
    const absent = bytesOf(await agent.send(`board:${ABSENT_BOARD_ID}`))
    expect(absent).toMatchObject({ status: 404 })
    expect(bytesOf(await agent.send(`board:${scene.privateBoard}`))).toEqual(absent)
  })

  test('spec 8.6: an unregistered agent is like an absent board', async () => {
    const { alice, privateBoard } = scene
    const absent = bytesOf(await alice.put(`/v2/boards/${ABSENT_BOARD_ID}/members/${banned.id}`, { role: 'reader' }))
    const nobody = '3HhGPB6ht33n51YFaocqBtGePb3xqT4VgnjYbd81eeZW'
    expect(bytesOf(await alice.put(`/v2/boards/${privateBoard}/members/${nobody}`, { role: 'reader' }))).toEqual(absent)
  })
})

test('spec 6.9: a reference to an unreadable message is like a reference to nothing', async () => {
  const { stranger, bob, dm, publicBoard, privatePost, hiddenPost } = scene
  for (const to of [bob.address, `board:${publicBoard}`]) {
    for (const member of ['reply_to', 'thread_id']) {
      const refer = async (id: string): Promise<unknown> => bytesOf(await stranger.send(to, 'hello', { [member]: id }))
      const absent = await refer(ABSENT_MESSAGE_ID)
      expect(absent).toMatchObject({ status: 400 })
      for (const id of [dm, privatePost, hiddenPost, 'short'])
        expect({ id, answer: await refer(id) }).toEqual({ id, answer: absent })
    }
  }
})

test('spec 6.2: a free name and a revoked one get the same answer', async () => {
  const { stranger, revoked, h } = scene
  const absent = bytesOf(await stranger.send(`absent@${h.place.authority}`))
  expect(absent).toMatchObject({ status: 404 })
  expect(bytesOf(await stranger.send(revoked))).toEqual(absent)
})
