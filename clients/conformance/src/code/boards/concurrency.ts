/**
 * Posts, role changes and departures at once. Each post is judged at one moment between its request and its answer. A change
 * therefore applies to every post that begins after the change was answered, and to no post that was answered before the
 * change began (spec 8.4, 8.5, 8.7, 8.8).
 */
import type { Case } from '../../cases/case.ts'
import { answered, check, got, spendingOf } from '../../cases/check.ts'
import { outcomeOf } from '../../cases/outcome.ts'
import type { Agent } from '../../http/agent.ts'
import { eventIdsOf, newBoard, putRole, roleOf } from './board.ts'

const LANES = 4
/** Posts that are answered before the change begins, and posts of each lane that begin after its answer. */
const POSTS_BEFORE = 12
const POSTS_AFTER = 3
const ROUNDS = 6

interface Post {
  readonly id: string
  readonly outcome: string
  /** `between` if it ran beside the change. */
  readonly when: 'before' | 'between' | 'after'
}

/** Posts in several lanes at once, and makes a change halfway. */
async function postAround(author: Agent, board: string, change: () => Promise<unknown>): Promise<Post[]> {
  const posts: Post[] = []
  let changing: Promise<unknown> | undefined
  let isOver = false
  const lane = async (): Promise<void> => {
    for (let after = 0; after < POSTS_AFTER; after += isOver ? 1 : 0) {
      const envelope = author.envelope(`board:${board}`)
      const beganAfter = isOver
      const outcome = outcomeOf(await answered(() => author.post('/v2/messages', envelope)))
      posts.push({
        id: envelope.id,
        outcome,
        when: beganAfter ? 'after' : changing === undefined ? 'before' : 'between',
      })
      if (posts.length >= POSTS_BEFORE) changing ??= change().then(() => (isOver = true))
    }
  }
  await Promise.all(Array.from({ length: LANES }, lane))
  await changing
  return posts
}

function idsOf(posts: readonly Post[], when: Post['when']): string[] {
  return posts.filter((post) => post.when === when).map(({ id }) => id)
}

async function twoAgents(world: Parameters<Case['run']>[0]): Promise<[Agent, Agent]> {
  return Promise.all([world.agent(), world.agent()])
}

export const BOARD_CONCURRENCY: readonly Case[] = [
  {
    id: 'boards/concurrency/ban',
    title:
      'Changes beside posts: a ban refuses every post that begins after its answer, and none that was answered before',
    spec: ['8.4', '8.5'],
    needs: ['large budget'],
    agents: 2,
    async run(world) {
      const [owner, writer] = await twoAgents(world)
      const board = await newBoard(owner)
      await got(putRole(owner, board, writer, 'writer'))
      const posts = await postAround(writer, board, () => got(putRole(owner, board, writer, 'banned')))
      for (const { when, outcome } of posts)
        check(
          outcome,
          { before: '202', after: '403 forbidden', between: { $one_of: ['202', '403 forbidden'] } }[when],
          `a post ${when} the ban`,
        )
      const accepted = posts.filter(({ outcome }) => outcome === '202').map(({ id }) => id)
      check(await eventIdsOf(owner), { $in_any_order: accepted }, 'the events of the owner')
    },
  },
  {
    id: 'boards/concurrency/leave',
    title: 'Changes beside posts: a reader that leaves has an event of each post before, and of none after',
    spec: ['8.7', '8.8', '9.5'],
    needs: ['large budget'],
    agents: 2,
    async run(world) {
      const [owner, reader] = await twoAgents(world)
      const board = await newBoard(owner)
      await got(putRole(reader, board, reader, 'reader'))
      const posts = await postAround(owner, board, () => got(putRole(reader, board, reader, 'none')))
      const events = await eventIdsOf(reader)
      check(
        idsOf(posts, 'before').filter((id) => !events.includes(id)),
        [],
        'posts before it left, without an event',
      )
      check(
        idsOf(posts, 'after').filter((id) => events.includes(id)),
        [],
        'posts after it left, with an event',
      )
    },
  },
  {
    id: 'boards/concurrency/subscribe',
    title: 'Changes beside posts: an agent that subscribes has an event of each post after, and of none before',
    spec: ['8.7', '8.8'],
    needs: ['large budget'],
    agents: 2,
    async run(world) {
      const [owner, reader] = await twoAgents(world)
      const board = await newBoard(owner)
      const posts = await postAround(owner, board, () => got(putRole(reader, board, reader, 'reader')))
      const events = await eventIdsOf(reader)
      check(
        idsOf(posts, 'before').filter((id) => events.includes(id)),
        [],
        'posts before it subscribed, with an event',
      )
      check(
        idsOf(posts, 'after').filter((id) => !events.includes(id)),
        [],
        'posts after it subscribed, without an event',
      )
    },
  },
  {
    id: 'boards/concurrency/price',
    title:
      'Changes beside posts: six equal posts beside a change of the readers are one, charged for the recipients that it has',
    spec: ['7.4', '8.8', '11.2'],
    needs: [],
    agents: 3,
    async run(world) {
      const [owner, reader, other] = await Promise.all([world.agent(), world.agent(), world.agent()])
      const board = await newBoard(owner)
      await got(putRole(reader, board, reader, 'reader'))
      for (let round = 0; round < ROUNDS; round += 1) {
        const before = (await spendingOf(owner)).units
        const envelope = owner.envelope(`board:${board}`)
        const [, ...answers] = await Promise.all([
          got(answered(() => putRole(other, board, other, round % 2 === 0 ? 'reader' : 'none'))),
          ...Array.from({ length: 6 }, (_, at) =>
            answered(() => owner.post('/v2/messages', envelope, { gateway: at + 1 })),
          ),
        ])
        // A call that was answered 503 before may have been the one that sent it.
        check(answers.map(outcomeOf), { $each: { $one_of: ['202', '200'] } }, 'the answers')
        check(answers.filter(({ status }) => status === 202).length, { $within: [0, 1] }, 'the number of 202')
        const recipients = (await eventIdsOf(other)).includes(envelope.id) ? 2 : 1
        check((await spendingOf(owner)).units - before, recipients, 'the units for a post with as many recipients')
      }
    },
  },
  {
    id: 'boards/concurrency/block',
    title:
      'Changes at once: after a block is answered, the owner of boards adds the agent to none, also with additions under way',
    spec: ['7.6', '7.7', '8.6'],
    needs: [],
    agents: 2,
    async run(world) {
      const [owner, agent] = await twoAgents(world)
      // 80 units for the boards, and up to 8 for the members.
      const boards = await Promise.all(Array.from({ length: 8 }, () => newBoard(owner, 'private')))
      const joined = async (): Promise<string[]> => {
        const seen = await Promise.all(boards.map((id) => agent.get(`/v2/boards/${id}`)))
        return boards.filter((_, at) => seen[at]?.status === 200)
      }
      const additions = boards.map((id) => putRole(owner, id, agent, 'reader').then(outcomeOf))
      await Promise.race(additions)
      await got(agent.put(`/v2/contacts/${owner.id}`, { state: 'blocked' }))
      const then = await joined()
      const outcomes = await Promise.all(additions)
      check(outcomes, { $each: { $one_of: ['200', '403 admission_denied'] } }, 'the answers')
      check(await joined(), then, 'the boards that the agent reads, later')
      check(outcomes.filter((one) => one === '200').length, then.length, 'the number of 200')
    },
  },
  {
    id: 'boards/concurrency/roles',
    title: 'Changes at once: of a ban, a promotion and a departure the last one holds, and none undoes a later ban',
    spec: ['8.5', '8.4'],
    needs: [],
    agents: 2,
    async run(world) {
      const [owner, agent] = await twoAgents(world)
      for (let round = 0; round < ROUNDS; round += 1) {
        const board = await newBoard(owner)
        await got(putRole(agent, board, agent, 'reader'))
        const [banned, promoted, left] = (
          await Promise.all([
            putRole(owner, board, agent, 'banned'),
            putRole(owner, board, agent, 'writer'),
            putRole(agent, board, agent, 'none'),
          ])
        ).map(outcomeOf)
        check([banned, promoted], ['200', '200'], 'the answers to the owner')
        check(left, { $one_of: ['200', '403 forbidden'] }, 'the answer to the agent')
        const role = await roleOf(agent, owner, board)
        check(role, { $one_of: left === '200' ? ['banned', 'writer', 'none'] : ['banned', 'writer'] }, 'the role')
        const post = outcomeOf(await agent.send(`board:${board}`))
        check(post, role === 'writer' ? '202' : '403 forbidden', `the answer to a post of a ${role}`)
      }
    },
  },
]
