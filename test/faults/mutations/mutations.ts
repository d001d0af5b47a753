/**
 * Mutations: small changes to a copy of the tree. Each one loses a message, a unit or a vote, or charges wrongly. Each also
 * has the conditions under which the damage shows. The checker must find every one of them.
 */
export interface Edit {
  /** Path from the root of the repository. */
  readonly file: string
  /** A text that occurs exactly once in the file. If you change that text, change it here too. */
  readonly find: string
  readonly replace: string
}

export interface Mutation {
  readonly name: string
  /** The damage, in one sentence. */
  readonly what: string
  readonly edits: readonly Edit[]
  /** Arguments of test/faults/main.ts besides the seed. */
  readonly args: readonly string[]
  /** At least one violation must be of a rule whose name begins with one of these. */
  readonly caughtBy: readonly string[]
}

export const MUTATIONS: readonly Mutation[] = [
  {
    name: 'lost-events-not-read',
    what: 'Nobody reads the logs for events that were not published: streams read no heads, and reconciliation creates no job',
    edits: [
      {
        file: 'services/webhook/src/loops/reconciliation.ts',
        find: 'advance(database, advances, events, backoff)',
        replace: 'advance(database, advances, [], backoff)',
      },
      {
        file: 'services/stream/src/loops/watch-heads.ts',
        find: 'else stream.noteHead(head)',
        replace: '',
      },
    ],
    args: ['--round-seconds', '20', '--points', 'messaging.appended'],
    caughtBy: ['everything comes to rest'],
  },
  {
    name: 'release-without-fence',
    what: 'An abandoned attempt is released without asking its owner whether it was committed',
    edits: [
      {
        file: 'libs/charging/src/abandon.ts',
        find: 'const committed = await fences.fence(items.map((item) => item.reservation))',
        replace: 'const committed = items.map(() => fences === undefined)',
      },
    ],
    args: [
      '--round-seconds',
      '20',
      '--points',
      'charging.messaging.committed,charging.boards.committed,messaging.appended',
    ],
    caughtBy: ['books:'],
  },
  {
    name: 'logs-not-locked',
    what: 'Direct messages are appended without the lock of their log',
    edits: [
      {
        file: 'services/messaging/database/functions/append_within.sql',
        find: 'own := array(select l.id from messaging.logs l where l.id = any (log_ids) order by l.id for no key update);',
        replace: 'own := array(select l.id from messaging.logs l where l.id = any (log_ids) order by l.id);',
      },
      {
        // Makes two statements overlap, however fast the machine is.
        file: 'services/messaging/database/functions/append_within.sql',
        find: '[(x.place & 3)::integer + 1]) as earlier_lane,',
        replace: '[(x.place & 3)::integer + 1]) as earlier_lane, pg_sleep(0.1) as meanwhile,',
      },
    ],
    args: ['--round-seconds', '20', '--faults', 'kill-process'],
    caughtBy: ['cursors are', 'a cursor keeps', 'answers: never a 500', 'streams:', 'delivered'],
  },
  {
    name: 'ack-before-insert',
    what: 'An event is acknowledged to JetStream before its webhook job is stored, and reconciliation with the logs creates no job',
    edits: [
      {
        file: 'services/webhook/src/loops/reconciliation.ts',
        find: 'advance(database, advances, events, backoff)',
        replace: 'advance(database, advances, [], backoff)',
      },
      {
        file: 'services/webhook/src/loops/ingest.ts',
        find: 'await ingest({ ...parsed, traceparent: event.traceparent })',
        replace: `setTimeout(() => void ingest({ ...parsed, traceparent: event.traceparent }).catch(() => {}), 300)`,
      },
    ],
    args: ['--round-seconds', '20', '--points', 'webhook.ingested,webhook.attempted'],
    caughtBy: ['everything comes to rest', 'webhooks: at least once'],
  },
  {
    name: 'nonce-accepted-twice',
    what: 'A nonce is not compared with earlier ones',
    edits: [
      {
        file: 'services/gateway/src/auth/checks.ts',
        find: "if (replayed) throw new ServiceError('nonce_replayed')",
        replace: "if (replayed && agentId === '') throw new ServiceError('nonce_replayed')",
      },
    ],
    args: ['--round-seconds', '15', '--faults', 'kill-process'],
    caughtBy: ['no nonce is accepted twice'],
  },
  {
    name: 'charged-twice',
    what: 'A message that is repeated while its first attempt waits to be settled is charged again',
    edits: [
      {
        file: 'services/budget/database/functions/reserve.sql',
        find: "from judged j where j.outcome = 'taken' and a.agent_id = j.agent_id",
        replace: "from judged j where j.outcome in ('taken', 'held') and a.agent_id = j.agent_id",
      },
    ],
    args: ['--round-seconds', '20', '--points', 'messaging.appended,charging.messaging.reserved'],
    caughtBy: ['books: units used', 'books: introductions', 'reads: units used'],
  },
  {
    name: 'request-not-promoted',
    what: 'Accepting a contact does not move its pending request',
    edits: [
      {
        file: 'services/messaging/src/handlers/change/set-contact.ts',
        find: "const isPromoted = state === 'accepted' && (await promoteRequest(",
        replace: "const isPromoted = state === 'accepted' && other === '' && (await promoteRequest(",
      },
    ],
    args: ['--calm', '--round-seconds', '20'],
    caughtBy: ['promoted with the acceptance'],
  },
  {
    name: 'events-reordered',
    what: 'Events of one transaction are published in the opposite order, and a stream writes every event that is newer than its last one',
    edits: [
      {
        file: 'libs/nats/src/streams/publish-events.ts',
        find: 'of publications) {',
        replace: 'of publications.toReversed()) {',
      },
      {
        file: 'services/stream/src/domain/gap.ts',
        find: "return cursor === last + 1 ? 'write' : 'read'",
        replace: "return 'write'",
      },
    ],
    args: ['--calm', '--actors', '120', '--round-seconds', '25'],
    caughtBy: ['streams:'],
  },
  {
    name: 'stream-returns-late',
    what: 'A resumed stream begins one event too late',
    edits: [
      {
        file: 'services/stream/src/streams/pages.ts',
        find: 'this.#history.read({ ...this.#reader, after, limit',
        replace: 'this.#history.read({ ...this.#reader, after: after + 1, limit',
      },
    ],
    args: ['--calm', '--actors', '120', '--round-seconds', '25'],
    caughtBy: ['streams:'],
  },
  {
    name: 'blocked-admitted',
    what: 'A blocked sender is admitted if the inbox is open',
    edits: [
      {
        file: 'services/messaging/src/domain/admission.ts',
        find: "if (contact === 'blocked') throw new ServiceError('admission_denied')",
        replace: '',
      },
    ],
    args: ['--round-seconds', '15', '--faults', 'kill-process'],
    caughtBy: ['answers: as the specification allows'],
  },
  {
    name: 'vote-counted-twice',
    what: 'A repeated vote is counted again',
    edits: [
      {
        file: 'services/messaging/src/store/votes.ts',
        find: 'on conflict (message, voter) do nothing returning message',
        replace: 'on conflict (message, voter) do update set voter = excluded.voter returning message',
      },
    ],
    args: ['--round-seconds', '15', '--faults', 'kill-process'],
    caughtBy: ['votes are exact', 'books:'],
  },
  {
    name: 'answered-before-durable',
    what: 'Services do not wait for the disk before they answer',
    edits: [
      {
        file: 'libs/postgres/src/connection/session.ts',
        find: "  plan_cache_mode: 'force_generic_plan',",
        replace: "  plan_cache_mode: 'force_generic_plan',\n  synchronous_commit: 'off',",
      },
    ],
    args: ['--round-seconds', '30', '--faults', 'kill-postgres,full-disk-postgres'],
    caughtBy: ['durability', 'reads:', 'books:', 'streams:', 'a cursor keeps', 'roles are', 'votes are'],
  },
  {
    name: 'decided-on-old-ground',
    what: 'An append does not check whether the recipient has changed its settings since the message was judged',
    edits: [
      {
        file: 'services/messaging/database/functions/append_within.sql',
        find: 'when l.standing_version <> i.standing and',
        replace: 'when l.standing_version < 0 and',
      },
    ],
    args: ['--round-seconds', '25', '--faults', 'kill-process,pause-process'],
    caughtBy: ['answers: as the specification allows'],
  },
]
