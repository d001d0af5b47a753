/** Methods, paths, queries and places in lists that a differential run tries. */
import { ABSENT, ABSENT_AGENT, ABSENT_BOARD } from './request.ts'
import { type Plan, pick, type World } from './world.ts'

export const METHODS = ['GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'PATCH', 'DELETE', 'TRACE', 'PURGE'] as const

const nameOf = ({ agents }: World): string => agents[0]?.name ?? ''
const messageOf = ({ messages }: Plan): string => messages[0]?.id ?? ABSENT
const boardOf = ({ boards }: World): string => boards[0] ?? ABSENT_BOARD
const encoded = (text: string): string => [...text].map((one) => `%${Buffer.from(one).toString('hex')}`).join('')

type Path = (world: World, plan: Plan) => string

/** Paths that name an operation, nearly name one, or have a segment that cannot be of its kind (spec 3.11). */
export const PATHS = {
  me: () => '/v2/me',
  'me, encoded': () => '/v2/%6d%65',
  'me, encoded slash': () => '/v2%2Fme',
  'me/': () => '/v2/me/',
  '//me': () => '//v2/me',
  'upper case': () => '/V2/ME',
  'dot segments': () => '/v2/x/../me',
  semicolon: () => '/v2/me;x=1',
  'me?': () => '/v2/me?',
  'me?&&': () => '/v2/me?&&',
  'me?x': () => '/v2/me?x',
  '/': () => '/',
  v2: () => '/v2',
  '*': () => '/*',
  agent: (world) => `/v2/agents/${nameOf(world)}`,
  'agent, encoded': (world) => `/v2/agents/${encoded(nameOf(world))}`,
  'agent in upper case': (world) => `/v2/agents/${nameOf(world).toUpperCase()}`,
  'agent with a line feed': (world) => `/v2/agents/${nameOf(world)}%0A`,
  'agent with an encoded slash': () => '/v2/agents/abc%2Fdef',
  'agent, encoded twice': (world) => `/v2/agents/%2561${nameOf(world)}`,
  'agent of other bytes': () => '/v2/agents/abc%ff',
  'agent of a wrong encoding': () => '/v2/agents/abc%zz',
  'short name': () => '/v2/agents/ab',
  'name of nobody': () => '/v2/agents/nobody-at-all',
  'empty name': () => '/v2/agents/',
  register: () => '/v2/agents/register',
  challenges: () => '/v2/challenges',
  contact: () => `/v2/contacts/${ABSENT_AGENT}`,
  'contact of no id': () => '/v2/contacts/!!',
  'contact of a short id': ({ agents }) => `/v2/contacts/${agents[0]?.id.slice(0, 30)}`,
  messages: () => '/v2/messages',
  message: (_, plan) => `/v2/messages/${messageOf(plan)}`,
  'message, encoded': (_, plan) => `/v2/messages/${encoded(messageOf(plan))}`,
  'message with a plus': () => '/v2/messages/message+0001',
  'short id': () => '/v2/messages/short',
  'long id': () => `/v2/messages/${'x'.repeat(81)}`,
  'ack of no id': () => '/v2/messages/short/ack',
  'vote of nothing': () => `/v2/messages/${ABSENT}/vote`,
  receipts: (_, plan) => `/v2/messages/${messageOf(plan)}/receipts`,
  board: (world) => `/v2/boards/${boardOf(world)}`,
  'board in upper case': (world) => `/v2/boards/${boardOf(world).toUpperCase()}`,
  'short board': () => '/v2/boards/no',
  'members of no board': () => '/v2/boards/no/members',
  'member of no id': (world) => `/v2/boards/${boardOf(world)}/members/!!`,
  'visibility of no id': (world) => `/v2/boards/${boardOf(world)}/messages/short/visibility`,
  inbox: () => '/v2/inbox',
  events: () => '/v2/events?after=x',
  webhook: () => '/v2/webhook',
} as const satisfies Record<string, Path>

/** Queries of lists. Each is right for some list, or wrong in one place (spec 3.12). */
export const QUERIES = [
  ...[
    '',
    '',
    '',
    'limit=1',
    'limit=2',
    'limit=3',
    'limit=0',
    'limit=01',
    'limit=101',
    'limit=100',
    'limit=1.0',
    'limit=-1',
  ],
  ...[
    'limit',
    'limit=',
    '=1',
    'limit=1&limit=2',
    'li%6dit=2&limit=2',
    '%6Cimit=%32',
    'limit=+1',
    'limit=1+',
    'limit=%zz',
  ],
  ...['limit=%ff', 'limit=1%00', '&&limit=1&', 'other=1', 'LIMIT=1', '%zz=1', 'after=1&after=1', 'limit=0&after=x'],
  ...['lane=inbox', 'lane=requests', 'lane=board', 'lane=inbox&lane=inbox', 'lane=', 'unacked=false', 'unacked=true'],
  ...['unacked=1', 'unacked=TRUE', 'unacked', 'thread_id=', 'thread_id=%00', 'thread_id=a+b', 'thread_id=%ff'],
] as const

export const LISTS = {
  inbox: () => '/v2/inbox?',
  requests: () => '/v2/inbox?lane=requests&',
  unacked: () => '/v2/inbox?unacked=true&',
  export: () => '/v2/export?',
  events: () => '/v2/events?',
  contacts: () => '/v2/contacts?',
  thread: (_, plan, which) => `/v2/inbox?thread_id=${pick(plan.messages, which)?.id ?? ABSENT}&`,
  'thread of export': (_, plan, which) => `/v2/export?thread_id=${pick(plan.messages, which)?.id ?? ABSENT}&`,
  feed: ({ boards }, _, which) => `/v2/boards/${pick(boards, which) ?? ABSENT_BOARD}/messages?`,
  'thread of a feed': ({ boards }, { messages }, which) =>
    `/v2/boards/${pick(boards, which) ?? ABSENT_BOARD}/messages?thread_id=${pick(messages, which)?.id ?? ABSENT}&`,
} as const satisfies Record<string, (world: World, plan: Plan, which: number) => string>

/** What `after` may be. `list` is the name of the list, under which its last cursor is kept. */
export const PLACES = {
  none: () => undefined,
  kept: ({ cursors }, list) => cursors.get(list),
  'kept of another list': ({ cursors }, list, which) =>
    pick(
      [...cursors].filter(([name]) => name !== list),
      which,
    )?.[1] ?? 'nothing',
  empty: () => '',
  wrong: () => 'no cursor',
  'another spelling': ({ cursors }, list) => `${cursors.get(list)}=`,
  number: () => '2',
  'leading zeros': () => '0002',
  negative: () => '-1',
  'beyond the end': () => '9007199254740991',
  'too large': () => '9007199254740992',
} as const satisfies Record<string, (world: World, list: string, which: number) => string | undefined>
