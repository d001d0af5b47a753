import type { ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import type { listAgents as listAgentsCall } from '@svc/contracts/identity.ts'
import { beforeNul } from '@svc/postgres/text.ts'
import type { IdentityDeps } from '../deps.ts'
import { listAgents as listAgentRows } from '../store/agents.ts'

/** Returns a page of the directory with one indexed query (spec 5.9, 7.9). */
export async function listAgents(
  { database }: Pick<IdentityDeps, 'database'>,
  { after, limit }: RequestOf<typeof listAgentsCall>,
): Promise<ReplyOf<typeof listAgentsCall>> {
  const rows = await database.run((sql) => listAgentRows(sql, beforeNul(after), limit + 1))
  const agents = rows.slice(0, limit)
  return { agents, next_cursor: rows.length > limit ? (agents.at(-1)?.name ?? '') : '' }
}
