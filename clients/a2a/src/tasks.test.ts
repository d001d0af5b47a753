import { Message, Task, TaskState } from '@a2a-js/sdk'
import { Shelf } from '@svc/sdk/store/shelf.ts'
import { createMemoryStore } from '@svc/sdk/store/store.ts'
import { expect, test } from 'vitest'
import { TaskBook } from './tasks.ts'
import type { Json } from './wire.ts'

const CONTACT = 'the-contact'
const stateOf = (name: string, more: Json = {}): Json => ({
  task: { status: { state: `TASK_STATE_${name}` }, ...more },
})
const state = (turn: string, seq: number, response: Json, last = false) => ({ turn, seq, last, response })

async function openBook(): Promise<{
  book: TaskBook
  begin: (turn: string) => Promise<void>
  task: () => Task | undefined
}> {
  const book = new TaskBook(await Shelf.open(createMemoryStore(), 'tasks/', 1_000))
  const empty = Task.fromJSON({ id: 'turn-one', contextId: 'c', status: { state: 'TASK_STATE_SUBMITTED' } })
  const begin = (turn: string): Promise<void> => {
    const own = Message.fromJSON({ messageId: `own-${turn}`, role: 'ROLE_USER', parts: [{ text: turn }] })
    const place = { contact: CONTACT, turn, task: 'turn-one', push: undefined }
    return book.begin(place, { messageId: own.messageId, outgoing: [] }, (before = empty) => ({
      ...before,
      history: [...before.history, own],
    }))
  }
  await begin('turn-one')
  return { book, begin, task: () => book.find(CONTACT, 'turn-one') }
}

type Step = (book: TaskBook, begin: (turn: string) => Promise<void>) => Promise<void>
const first: Step = (book) => book.apply(CONTACT, state('turn-one', 1, stateOf('WORKING')))
const result: Step = (book) => book.apply(CONTACT, state('turn-one', 2, stateOf('COMPLETED'), true))
const follow: Step = (_, begin) => begin('turn-two')
const refused: Step = (book) => book.refuse('turn-two', { code: 'budget_exhausted', message: 'no units' })
const failed: Step = (book) => book.fail(CONTACT, 'turn-one', 'lost')

test.each<[string, Step[], TaskState]>([
  ['states in order', [first, result], TaskState.TASK_STATE_COMPLETED],
  ['states in the other order', [result, first], TaskState.TASK_STATE_COMPLETED],
  ['each state twice', [first, first, result, result], TaskState.TASK_STATE_COMPLETED],
  ['a result after a later message was refused', [first, follow, refused, result], TaskState.TASK_STATE_COMPLETED],
  ['a failure after the result', [result, failed], TaskState.TASK_STATE_COMPLETED],
  ['a failure of an earlier message', [first, follow, failed], TaskState.TASK_STATE_WORKING],
  ['a failure', [first, failed], TaskState.TASK_STATE_REJECTED],
  [
    'a state of another contact',
    [(book) => book.apply('other', state('turn-one', 9, stateOf('FAILED'), true))],
    TaskState.TASK_STATE_SUBMITTED,
  ],
  ['the same message again', [result, (_, begin) => begin('turn-one')], TaskState.TASK_STATE_COMPLETED],
])('%s', async (_, steps, expected) => {
  const { book, begin, task } = await openBook()
  for (const step of steps) await step(book, begin)
  expect(task()?.status?.state).toBe(expected)
})

test('a refused message can be sent again, and the refusal is forgotten', async () => {
  const { book, begin, task } = await openBook()
  await book.refuse('turn-one', { code: 'request_pending', message: 'wait' })
  expect(task()?.status?.state).toBe(TaskState.TASK_STATE_REJECTED)
  await begin('turn-one')
  expect(task()?.status?.state).toBe(TaskState.TASK_STATE_SUBMITTED)
  expect(task()?.history).toHaveLength(1)
  expect(book.findTurn(CONTACT, 'turn-one')).toMatchObject({ over: false, seq: 0 })
})

test('the history has each message once, in order, as it was sent here; strangers to it are not kept', async () => {
  const { book, begin, task } = await openBook()
  const said = (...ids: string[]): Json => ({
    history: ids.map((messageId) => ({ messageId, parts: [{ text: messageId }] })),
  })
  await book.apply(CONTACT, state('turn-one', 1, stateOf('INPUT_REQUIRED', said('turn-one', 'a1')), true))
  await begin('turn-two')
  await book.apply(CONTACT, state('turn-two', 1, stateOf('WORKING', said('junk'))))
  await book.apply(CONTACT, state('turn-two', 2, stateOf('COMPLETED', said('turn-one', 'a1', 'turn-two', 'a2')), true))
  expect(task()?.history.map(({ messageId }) => messageId)).toEqual(['own-turn-one', 'a1', 'own-turn-two', 'a2'])
})

test('artifacts that a state leaves out stay, and watchers are told what was added', async () => {
  const { book, task } = await openBook()
  const seen: unknown[] = []
  book.watch(({ responses }) => void seen.push(...responses.map(({ payload }) => payload?.value)))
  const artifact = (...texts: string[]): Json => ({
    artifacts: [{ artifactId: 'a', parts: texts.map((text) => ({ text })) }],
  })
  await book.apply(CONTACT, state('turn-one', 1, stateOf('WORKING', artifact('one'))))
  await book.apply(CONTACT, state('turn-one', 2, stateOf('WORKING')))
  expect(task()?.artifacts[0]?.parts).toHaveLength(1)
  await book.apply(CONTACT, state('turn-one', 3, stateOf('COMPLETED', artifact('one', 'two')), true))
  expect(seen).toMatchObject([
    { append: false, artifact: { parts: [{ content: { value: 'one' } }] } },
    { status: { state: TaskState.TASK_STATE_WORKING } },
    { append: true, artifact: { parts: [{ content: { value: 'two' } }] } },
    { status: { state: TaskState.TASK_STATE_COMPLETED } },
  ])
})
