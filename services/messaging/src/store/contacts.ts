import type { ContactState } from '@svc/contracts/resources.ts'
import type { Sql, Tx } from '@svc/postgres/database.ts'

/** The contact state that `owner` has set for `other`; `none` by default. */
export async function contactState(sql: Sql | Tx, owner: string, other: string): Promise<ContactState> {
  const [row] = await sql<{ state: ContactState }[]>`
    select c.state from messaging.contacts c where c.owner = ${owner} and c.other = ${other}`
  return row?.state ?? 'none'
}

/** The caller holds the lock of the owner's log. */
export async function saveContactState(tx: Tx, owner: string, other: string, state: ContactState): Promise<void> {
  if (state === 'none') {
    await tx`delete from messaging.contacts c where c.owner = ${owner} and c.other = ${other}`
  } else {
    await tx`
      insert into messaging.contacts (owner, other, state) values (${owner}, ${other}, ${state})
      on conflict (owner, other) do update set state = excluded.state`
  }
}

interface ContactRow {
  other: string
  state: ContactState
}

/** Contacts in byte order of the id (spec 7.9), without revoked identities. @param after need not exist. */
export async function listContacts(sql: Sql, owner: string, after: string, limit: number): Promise<ContactRow[]> {
  return sql<ContactRow[]>`
    select c.other, c.state
    from messaging.contacts c
    where c.owner = ${owner} and c.other > ${after}
      and (select l.revoked from messaging.logs l where l.id = c.other) is not true
    order by c.other limit ${limit}`
}
