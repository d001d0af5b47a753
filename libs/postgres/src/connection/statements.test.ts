import { expect, test } from 'vitest'
import { nameStatement } from './statements.ts'

test.each([
  ['select a.outcome from messaging.append( ? ::text[]) a order by a.ord', 'call messaging.append'],
  ['select identity.truncate_nonces( ? ) as truncated', 'call identity.truncate_nonces'],
  ['select id from messaging.messages m left join messaging.logs l on l.id = m.id', 'select messaging.messages'],
  ['insert into stream.leases (id) values ( ? ) on conflict (id) do update set id = ?', 'insert stream.leases'],
  [
    'with due as (select id from webhook.jobs for update skip locked) update webhook.jobs o set x = 1',
    'update webhook.jobs',
  ],
  ['delete from webhook.jobs j using old o', 'delete webhook.jobs'],
  ['/* charging.fence */ select f.operation from  ? ( ? ::text[]) f', 'charging.fence'],
  ['select u.id, q.x from unnest( ? ::text[]) u (id) join budget.accounts q on q.id = u.id', 'select budget.accounts'],
  ['select pg_catalog.now(), coalesce(a.b, lower(a.c))', 'other'],
  ['select 1', 'other'],
])('%s is called %s', (text, name) => {
  expect(nameStatement(text)).toBe(name)
})
