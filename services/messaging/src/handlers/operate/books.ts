/** Answers `svc admin verify` about logs and messages. */

import type {
  Charge,
  judgeOperations,
  verifyLogs as verifyLogsCall,
  verifyMessages as verifyMessagesCall,
} from '@svc/contracts/admin.ts'
import { COMPARED_MS, DISCREPANCIES_MAX } from '@svc/contracts/admin.ts'
import type { ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import { messageOperation, parseMessageOperation } from '@svc/contracts/message-operation.ts'
import { costUnits } from '@svc/contracts/price.ts'
import { bodySize } from '@svc/envelope/size.ts'
import type { Tx } from '@svc/postgres/database.ts'
import { runReport } from '@svc/postgres/report.ts'
import type { Deps } from '../../deps.ts'
import {
  type CheckedMessage,
  findAccepted,
  findChecked,
  findLogPage,
  findWrongLogs,
  listChecked,
  type MessagePosition,
} from '../../store/operate/books.ts'

type Verdict = ReplyOf<ReturnType<typeof judgeOperations>>['verdicts'][number]

export function verifyLogs(
  { database }: Pick<Deps, 'database'>,
  { after, limit, id }: RequestOf<typeof verifyLogsCall>,
): Promise<ReplyOf<typeof verifyLogsCall>> {
  return runReport(database, async (tx) => {
    const { checked, last } = id === null ? await findLogPage(tx, after, limit) : { checked: 1, last: null }
    const discrepancies = await findWrongLogs(tx, { after, last, only: id }, DISCREPANCIES_MAX)
    return { checked, discrepancies, next: last }
  })
}

/** `after` is `<sender>:<batch>:<ordinal>`. */
export function verifyMessages(
  { database }: Pick<Deps, 'database'>,
  { after, limit, id }: RequestOf<typeof verifyMessagesCall>,
): Promise<ReplyOf<typeof verifyMessagesCall>> {
  return runReport(database, async (tx) => {
    const page = { after: positionIn(after), only: id, recentMs: COMPARED_MS, limit }
    const messages = await listChecked(tx, page)
    const last = messages.length === limit ? messages.at(-1) : undefined
    return {
      checked: messages.length,
      discrepancies: messages
        .filter(({ entered }) => !entered)
        .map(withoutEntry)
        .slice(0, DISCREPANCIES_MAX),
      next: last === undefined ? null : `${last.sender}:${last.batch}:${last.ordinal}`,
      charges: messages.filter(({ recent }) => recent).map(chargeOf),
      pairs: pairsOf(messages),
    }
  })
}

/** The `judge` of booksEndpoints (libs/charging). A message's row is the record of its charge; others are in `operations`. */
export async function judgeMessages(tx: Tx, operations: readonly string[]): Promise<(Verdict | undefined)[]> {
  const named = operations.map(parseMessageOperation)
  const messages = named.filter((message) => message !== undefined)
  if (messages.length === 0) return []
  const ids = messages.map(({ id }) => id)
  const live = new Map((await findChecked(tx, ids)).map((message) => [`${message.id}:${message.digest}`, message]))
  const accepted = await findAccepted(tx, messages)
  return named.map((message) => {
    if (message === undefined) return undefined
    const key = `${message.id}:${message.digest}`
    const found = live.get(key)
    return { done: found !== undefined || accepted.has(key), charge: found === undefined ? null : chargeOf(found) }
  })
}

function positionIn(after: string): MessagePosition {
  const [sender = '', batch = '0', ordinal = '0'] = after.split(':')
  return { sender, batch: Number(batch), ordinal: Number(ordinal) }
}

function chargeOf(message: CheckedMessage): Charge {
  const isDirect = message.lane !== 'board'
  return {
    operation: messageOperation(message.id, message.digest),
    agent_id: message.sender,
    units: costUnits(payloadBytes(message.envelope), isDirect ? 1 : Math.max(1, message.subscribers)),
    introduction_peer: isDirect && message.recipient !== message.sender ? message.recipient : null,
  }
}

/** The number of bytes that were charged (the size of spec 6.5). This is the only place that parses a stored envelope. */
function payloadBytes(text: string): number {
  const envelope = JSON.parse(text) as { body?: unknown; body_enc?: string }
  return envelope.body_enc === undefined
    ? bodySize(envelope.body).bytes
    : Buffer.byteLength(envelope.body_enc, 'base64')
}

function pairsOf(messages: readonly CheckedMessage[]): { agent_id: string; peer: string }[] {
  const pairs = messages
    .filter(({ lane, sender, recipient }) => lane !== 'board' && sender !== recipient)
    .map(({ sender, recipient }) => [`${sender} ${recipient}`, { agent_id: sender, peer: recipient }] as const)
  return [...new Map(pairs).values()]
}

function withoutEntry({ id, lane }: CheckedMessage) {
  return { rule: 'messages with their entries', id, day: null, expected: lane, found: null }
}
