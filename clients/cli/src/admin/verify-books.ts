/**
 * Verifies the books. Every service verifies its own schema, page by page, each page on one snapshot. Data that several
 * services keep is compared here. This can run while the system works: unfinished operations are not reported.
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
  /** The kind of data that was checked. */
  readonly name: string
  readonly checked: number
  readonly wrong: number
}

interface VerifyOptions {
  /** Only this agent. Undefined for all agents. */
  readonly agentId: string | undefined
  /** Accounts per call. */
  readonly accountsPerPage: number
  readonly signal: AbortSignal
  /** Called for each discrepancy at once. */
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
/** A page reads whole tables. The services time out a little earlier. */
const PAGE_MS = 60_000

/** @returns the counts of each section. @throws NetworkError if a service does not answer. */
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
  // Services list operations by id, not by agent, so this part is skipped for a single agent.
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
 * Pages of accounts. The units of today are compared with the sums of all charges of today. The charges are read first and
 * added up here, in pages, because a ledger can be large. A charge that ends between the two reads can make an account look
 * wrong, so each suspect is verified once more on one snapshot.
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
    // After midnight the sums belong to another day.
    const today = page.day === day ? (page.today ?? []) : []
    const suspects = today
      .filter((account) => !isSum(account, sums.get(account.agent_id)))
      .map(({ agent_id }) => agent_id)
    for (const { agent_id } of today) sums.delete(agent_id)
    // The remaining sums are charges of today without an account of today.
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

/** Every accepted message has a charge of its cost, and its pair of agents was introduced. */
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

/** Every settled charge belongs to an operation that was done. */
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

/** Every operation that was done has a charge. Only budget knows what the operation cost at that time, so the amount is not checked. */
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
