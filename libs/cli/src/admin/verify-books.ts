/**
 * Verifies the books: every service verifies its own schema, page after page, each on one snapshot; what several of them keep is
 * held together here. It can run while the system works: nothing that is under way is taken for a fault.
 */
import {
  type Charge,
  type Discrepancy,
  judgeCharges,
  judgeOperations,
  listCharges,
  listOperations,
  type Sum,
  sumCharges,
  verifyAccounts,
  verifyLogs,
  verifyMessages,
} from '@svc/contracts/admin.ts'
import type { ChargeOwner } from '@svc/contracts/budget.ts'
import type { ReplyOf } from '@svc/contracts/define.ts'
import type { Operator } from './operator.ts'

interface Section {
  /** What was looked at. */
  readonly name: string
  readonly checked: number
  readonly wrong: number
}

interface VerifyOptions {
  /** One agent alone; undefined: all. */
  readonly agentId: string | undefined
  /** Accounts in one question. */
  readonly accountsPerPage: number
  readonly signal: AbortSignal
  /** Told of each fault as it is found. */
  readonly onWrong: (section: string, wrong: Discrepancy) => void
}

type Ask = Operator['ask']

interface Page {
  checked: number
  wrong: Discrepancy[]
  next: string | null
}

const OWNERS: readonly ChargeOwner[] = ['messaging', 'identity', 'boards', 'webhook']
const CHARGES_PER_SUM = 5_000
const LOGS_PER_PAGE = 500
const MESSAGES_PER_PAGE = 500
const OPERATIONS_PER_PAGE = 1_000
/** A page reads whole tables; the services give up a little earlier. */
const PAGE_MS = 60_000

/** @returns what was looked at, section by section. @throws NetworkError where a service does not answer. */
export async function verifyBooks(ask: Ask, options: VerifyOptions): Promise<Section[]> {
  const id = options.agentId ?? null
  const logs = async (after: string): Promise<Page> => {
    const page = await ask(verifyLogs, { after, limit: LOGS_PER_PAGE, id }, PAGE_MS)
    return { ...page, wrong: page.discrepancies }
  }
  const sections: Section[] = [
    await readSection('accounts', options, await accountPages(ask, options)),
    await readSection('logs', options, logs),
    await readSection('messages', options, (after) => messagesPage(ask, after, id)),
    await readSection('charges', options, (after) => chargesPage(ask, after, id)),
  ]
  // What is done is known by its operation, not by its agent.
  for (const owner of id === null ? OWNERS : []) {
    sections.push(await readSection(`operations of ${owner}`, options, (after) => operationsPage(ask, owner, after)))
  }
  return sections
}

async function readSection(
  name: string,
  { signal, onWrong }: VerifyOptions,
  readPage: (after: string) => Promise<Page>,
): Promise<Section> {
  let [checked, wrong] = [0, 0]
  for (let after: string | null = ''; after !== null; ) {
    signal.throwIfAborted()
    const page: Page = await readPage(after)
    for (const each of page.wrong) onWrong(name, each)
    checked += page.checked
    wrong += page.wrong.length
    after = page.next
  }
  return { name, checked, wrong }
}

/**
 * Pages of accounts. The units of today are held against the sums of all of today's charges, which are read once and added up here: a large
 * ledger is read in pages too. What ended in between may look wrong from two moments, so an account that does is held once more at one.
 */
async function accountPages(
  ask: Ask,
  { agentId, accountsPerPage, signal }: VerifyOptions,
): Promise<(after: string) => Promise<Page>> {
  const id = agentId ?? null
  const { sums, untilMs, day } = await sumToday(ask, id, signal)
  return async (after) => {
    const page = await ask(verifyAccounts, { after, limit: accountsPerPage, id, until_ms: untilMs }, PAGE_MS)
    const wrong = [...page.discrepancies]
    // Past midnight the sums are of another day.
    const today = page.day === day ? (page.today ?? []) : []
    const suspects = today
      .filter((account) => !isSum(account, sums.get(account.agent_id)))
      .map(({ agent_id }) => agent_id)
    for (const { agent_id } of today) sums.delete(agent_id)
    // Charges of today without an account of today.
    if (page.next === null && page.day === day) suspects.push(...sums.keys())
    for (const agent of suspects) {
      signal.throwIfAborted()
      const again = await ask(verifyAccounts, { after: '', limit: 1, id: agent }, PAGE_MS)
      wrong.push(...again.discrepancies.filter(({ rule }) => OF_TODAY.includes(rule)))
    }
    return { checked: page.checked, wrong, next: page.next }
  }
}

const OF_TODAY = ['units of today', 'credits drawn today']

async function sumToday(
  ask: Ask,
  id: string | null,
  signal: AbortSignal,
): Promise<{ sums: Map<string, Sum>; untilMs: number; day: string }> {
  const sums = new Map<string, Sum>()
  let [untilMs, day]: [number | null, string] = [null, '']
  for (let after: string | null = ''; after !== null; ) {
    signal.throwIfAborted()
    const page: ReplyOf<typeof sumCharges> = await ask(
      sumCharges,
      { after, until_ms: untilMs, limit: CHARGES_PER_SUM, agent_id: id },
      PAGE_MS,
    )
    for (const { agent_id, units, credits } of page.sums) {
      const before = sums.get(agent_id) ?? { agent_id, units: 0, credits: 0 }
      sums.set(agent_id, { agent_id, units: before.units + units, credits: before.credits + credits })
    }
    untilMs = page.until_ms
    day = page.day
    after = page.next
  }
  return { sums, untilMs: untilMs ?? 0, day }
}

function isSum({ units, credits }: Sum, sum: Sum | undefined): boolean {
  return units === (sum?.units ?? 0) && credits === (sum?.credits ?? 0)
}

/** What was accepted has its charge, at its cost, and its pair was introduced. */
async function messagesPage(ask: Ask, after: string, id: string | null): Promise<Page> {
  const page = await ask(verifyMessages, { after, limit: MESSAGES_PER_PAGE, id }, PAGE_MS)
  const { charges, pairs } = page
  const question = { operations: charges.map(({ operation }) => operation), pairs }
  const judged = await ask(judgeCharges, question, PAGE_MS)
  const charged = charges.flatMap((due, index) => compare(due, judged.charges[index] ?? null))
  const introduced = pairs.flatMap(({ agent_id, peer }, index) =>
    judged.introduced[index] === true ? [] : [wrong('introduction of a pair', agent_id, peer, null)],
  )
  return { checked: page.checked, wrong: [...page.discrepancies, ...charged, ...introduced], next: page.next }
}

/** What was charged for good was done. */
async function chargesPage(ask: Ask, after: string, id: string | null): Promise<Page> {
  const { charges, next } = await ask(listCharges, { after, limit: OPERATIONS_PER_PAGE, agent_id: id }, PAGE_MS)
  const found: Discrepancy[] = []
  for (const [owner, own] of Map.groupBy(charges, (charge) => charge.owner)) {
    const operations = own.map(({ operation }) => operation)
    const { verdicts } = await ask(judgeOperations(owner), { operations }, PAGE_MS)
    own.forEach((charge, index) => {
      const verdict = verdicts[index]
      if (verdict?.done !== true) found.push(wrong('effect of a charge', charge.operation, charge.units, null))
      else if (verdict.charge !== null) found.push(...compare(verdict.charge, charge))
    })
  }
  return { checked: charges.length, wrong: found, next }
}

/** What was done was charged. What it cost then nobody knows but budget. */
async function operationsPage(ask: Ask, owner: ChargeOwner, after: string): Promise<Page> {
  const { operations, next } = await ask(listOperations(owner), { after, limit: OPERATIONS_PER_PAGE }, PAGE_MS)
  const { charges } = await ask(judgeCharges, { operations, pairs: [] }, PAGE_MS)
  const found = operations.filter((_, index) => (charges[index] ?? null) === null)
  return {
    checked: operations.length,
    wrong: found.map((operation) => wrong('charge of an operation', operation, null, null)),
    next,
  }
}

function compare(due: Charge, charged: Charge | null): Discrepancy[] {
  const { operation } = due
  if (charged === null) return [wrong('charge of a message', operation, due.units, null)]
  return [
    ...(charged.units === due.units ? [] : [wrong('cost of a message', operation, due.units, charged.units)]),
    ...(charged.agent_id === due.agent_id ? [] : [wrong('payer', operation, due.agent_id, charged.agent_id)]),
    ...(charged.introduction_peer === due.introduction_peer
      ? []
      : [wrong('peer of a message', operation, due.introduction_peer, charged.introduction_peer)]),
  ]
}

function wrong(rule: string, id: string, expected: number | string | null, found: number | string | null): Discrepancy {
  return { rule, id, day: null, expected, found }
}
