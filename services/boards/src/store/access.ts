import { type Batcher, createBatcher } from '@svc/batching/batcher.ts'
import { ServiceError } from '@svc/contracts/errors.ts'
import type { MemberRole } from '@svc/contracts/resources.ts'
import type { Database, Sql } from '@svc/postgres/database.ts'
import type { BoardRules } from '../domain/access.ts'

export interface AccessQuestion {
  readonly boardId: string
  /** null if anonymous. */
  readonly viewer: string | null
  readonly withSubscribers: boolean
}

export interface AccessRow extends BoardRules {
  /** The viewer's role. */
  role: MemberRole | null
  /** The owner, writers and readers except the viewer, in byte order; empty if the question did not ask for them. */
  subscribers: string[]
}

/** Each answer holds for one moment after the question; undefined if there is no such board. */
export function createFindAccess(database: Database): Batcher<AccessQuestion, AccessRow | undefined> {
  return createBatcher({
    name: 'boards.access',
    concurrency: 2,
    overloaded: () =>
      new ServiceError('unavailable', { cause: new Error('too many questions about boards are waiting') }),
    run: async (questions) => {
      const rows = await database.run((sql) => findAccess(sql, questions))
      const found = new Map(rows.map((row) => [row.ordinal, row]))
      return questions.map((_, index) => found.get(index + 1))
    },
  })
}

/**
 * Sends booleans as numbers, because the driver cannot send arrays of booleans.
 * @returns a row for each question whose board exists and is not taken down; `ordinal` is the position of the question, from 1.
 */
export async function findAccess(
  sql: Sql,
  questions: readonly AccessQuestion[],
): Promise<(AccessRow & { ordinal: number })[]> {
  return sql<(AccessRow & { ordinal: number })[]>`
    select q.ordinal, b.visibility, b.posting, m.role,
      case when q.with_subscribers = 1 then array(
        select s.agent_id from boards.memberships s
        where s.board_id = b.id and s.role <> 'banned' and s.agent_id is distinct from q.viewer
        order by s.agent_id
      ) else '{}' end as subscribers
    from unnest(
      ${questions.map(({ boardId }) => boardId)}::text[],
      ${questions.map(({ viewer }) => viewer)}::text[],
      ${questions.map(({ withSubscribers }) => Number(withSubscribers))}::integer[]
    ) with ordinality q (board_id, viewer, with_subscribers, ordinal)
    join boards.boards b on b.id = q.board_id and not b.taken_down
    left join boards.memberships m on m.board_id = b.id and m.agent_id = q.viewer`
}

/**
 * Finds the boards among `boardIds` that exist and are not taken down, with the agent's role on each. One query for any number of
 * boards.
 */
export async function findRoles(
  sql: Sql,
  agentId: string,
  boardIds: readonly string[],
): Promise<(BoardRules & { id: string; role: MemberRole | null })[]> {
  return sql<(BoardRules & { id: string; role: MemberRole | null })[]>`
    select b.id, b.visibility, b.posting, m.role
    from unnest(${[...boardIds]}::text[]) q (board_id)
    join boards.boards b on b.id = q.board_id and not b.taken_down
    left join boards.memberships m on m.board_id = b.id and m.agent_id = ${agentId}`
}
