/** A page of a list that holds more than a page. */
import type { Case } from '../../cases/case.ts'
import { check, got } from '../../cases/check.ts'

const MESSAGES = 101
const AT_ONCE = 20

export const PAGES: Case = {
  id: 'requests/pages/size',
  title: 'Paths and queries: a page has 50 messages by default, and 100 at most',
  spec: ['3.12', '11.7'],
  needs: ['operator'],
  agents: 1,
  async run(world) {
    const alice = await world.agent()
    await world.operator.run('grant', alice.id, String(MESSAGES), `pages-${alice.name}`, '--reason', 'a test')
    for (let sent = 0; sent < MESSAGES; sent += AT_ONCE) {
      const left = Math.min(AT_ONCE, MESSAGES - sent)
      await Promise.all(Array.from({ length: left }, () => got(alice.send(alice))))
    }
    for (const [query, size] of [
      ['', 50],
      ['?limit=100', 100],
    ] as const) {
      const page = await got(alice.get(`/v2/inbox${query}`))
      check(page.messages.length, size, `the messages of GET /v2/inbox${query}`)
      const rest = await got(alice.get(`/v2/inbox?limit=100&after=${encodeURIComponent(page.next_cursor)}`))
      check(rest.messages.length, MESSAGES - size, 'the messages behind this page')
      check(rest.next_cursor, '', 'the cursor at the end')
    }
  },
}
