import type { ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import type { listContacts as listContactsCall } from '@svc/contracts/messaging.ts'
import { beforeNul } from '@svc/postgres/text.ts'
import type { Deps } from '../../deps.ts'
import { listContacts as listRows } from '../../store/contacts.ts'
import { standingVersion } from '../../store/logs.ts'

type Request = RequestOf<typeof listContactsCall>
type Result = ReplyOf<typeof listContactsCall>

/**
 * A page of contacts in byte order of the id; `after` is a place in that order and need not exist (spec 7.9). The version is
 * read first, so that a change that is not in the page has a higher one.
 */
export async function listContacts(
  { database }: Pick<Deps, 'database'>,
  { agent_id, after, limit }: Request,
): Promise<Result> {
  const version = await database.run((sql) => standingVersion(sql, agent_id))
  const rows = await database.run((sql) => listRows(sql, agent_id, beforeNul(after), limit + 1))
  const contacts = rows.slice(0, limit).map(({ other, state }) => ({ agent_id: other, state }))
  return { contacts, next_cursor: rows.length > limit ? (contacts.at(-1)?.agent_id ?? '') : '', version }
}
