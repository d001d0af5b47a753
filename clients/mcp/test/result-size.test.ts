import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Fields, textOf } from './scene.ts'
import { type Stage, startStage } from './stage.ts'

/** Some clients take no result with more tokens, and a token has at least one byte. */
const MOST_BYTES = 25_000

let stage: Stage
beforeAll(async () => {
  stage = await startStage()
})
afterAll(() => stage?.[Symbol.asyncDispose]())

test.each([
  ['ASCII', 'word '],
  ['characters that JSON escapes', '"\\\t\n'],
  ['Chinese', '漢字'],
  ['cuneiform', '𒀀𒁀'],
  ['emoji', '😀'],
])('a result is small in every script, and no message is lost: %s', async (_, sample) => {
  await using stack = new AsyncDisposableStack()
  const alice = await stage.serve(stack)
  const bob = await stage.agent()
  await alice.call('find_agent', { name: bob.name })
  await alice.call('accept_contact', { agent: bob.name })
  const ids: string[] = []
  // The first text is as long as a message can be.
  for (const codePoints of [3_900, ...Array<number>(19).fill(500)]) {
    const body = sample.repeat(codePoints / ([...JSON.stringify(sample)].length - 2))
    ids.push((await bob.client.send({ to: alice.name, body })).msg_id)
  }
  const small = async (tool: string, args: Fields): Promise<Fields> => {
    const result = await alice.result(tool, args)
    expect(result.isError, textOf(result)).not.toBe(true)
    expect(Buffer.byteLength(JSON.stringify(result)), tool).toBeLessThanOrEqual(MOST_BYTES)
    return result.structuredContent as Fields
  }

  for (const [tool, args] of [
    ['check_inbox', {}],
    ['search_messages', { query: sample }],
  ] as const) {
    const listed: string[] = []
    let cursor: string | null = null
    do {
      const page: Fields = await small(tool, { ...args, limit: 20, cursor })
      listed.push(...page.messages.map(({ message_id }: Fields) => message_id))
      cursor = page.next_cursor
    } while (cursor !== null)
    expect(listed.toSorted(), tool).toEqual(ids.toSorted())
  }

  const arrived: string[] = []
  for (;;) {
    const { messages } = await small('wait_for_messages', { limit: 20, timeout_seconds: 0 })
    if (messages.length === 0) break
    arrived.push(...messages.map(({ message_id }: Fields) => message_id))
  }
  expect(arrived).toEqual(ids)

  let offset: number | null = 0
  while (offset !== null) {
    const { message } = await small('read_message', { message_id: ids[0], offset })
    offset = message.next_offset
  }
})
