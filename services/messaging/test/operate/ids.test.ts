/** The part of a message that is kept for ever. */
import { expect, test } from 'vitest'
import { startStore } from '../support/store.ts'

const BATCHES = 1_000
const IN_A_BATCH = 100

test('ADR 29: an id takes 60 bytes in the table, and at most 56 in the index', async () => {
  await using store = await startStore()
  const admin = store.openAdmin()
  await admin.unsafe(`
    do $$ begin
      for batch in 1..${BATCHES} loop
        insert into messaging.ids (key, "check", place)
        select messaging.id_key('message-' || batch || '-' || n, s.secret), n, n
        from messaging.id_secret s, generate_series(1, ${IN_A_BATCH}) n order by 1;
      end loop;
    end $$`)
  const rows = BATCHES * IN_A_BATCH
  const [size] = await admin`
    select pg_relation_size('messaging.ids')::int as heap, pg_relation_size('messaging.ids_pkey')::int as keys`
  expect(size?.heap / rows).toBeLessThan(60.5)
  // Keys arrive in no order. So the pages of their index are 69 % full on average, and between 50 % and all full at any moment.
  expect(size?.keys / rows).toBeLessThan(28 / 0.5)
})

test('ADR 29: keys and checks depend on the secret of the installation', async () => {
  await using store = await startStore()
  const [row] = await store.openAdmin()`
    select messaging.id_key('id', s.secret) = messaging.id_key('id', sha256(s.secret)) as key,
      messaging.id_check('a', 'b', s.secret) = messaging.id_check('a', 'b', sha256(s.secret)) as check,
      messaging.id_check('a', 'b', s.secret) = messaging.id_check('b', 'b', s.secret) as digest,
      messaging.id_check('a', 'b', s.secret) = messaging.id_check('a', 'a', s.secret) as sender,
      messaging.id_check('a', 'b', s.secret) >> 24 = messaging.id_check('a', 'a', s.secret) >> 24 as alone
    from messaging.id_secret s`
  expect(row).toEqual({ key: false, check: false, digest: false, sender: false, alone: true })
})
