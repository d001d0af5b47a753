/**
 * Checks each answer: the specification must allow it in some state that was possible while the request was under way. A
 * 503 is always allowed (spec 3.17), except in a run without faults.
 */
import type { Attempt } from '../../history/attempts.ts'
import type { Call, Sent } from '../../history/calls.ts'
import {
  answersToCreate,
  answerToAck,
  answerToDm,
  answerToPaid,
  answerToPost,
  answerToRead,
  answerToRole,
  answerToVote,
  type BoardRole,
  mayRead,
} from '../../model/answers.ts'
import { MAYBE, NO, statesOf, trilean, YES } from '../../model/possible.ts'
import type { Purses } from '../purse.ts'
import type { Violation } from '../violation.ts'
import { revokedIn, type World } from '../world.ts'

/** The limits of spec 6.5 and 8.1. */
const DM_SIZE = { bytes: 16 * 1_024, characters: 4_000 }
const POST_SIZE = { bytes: 32 * 1_024, characters: 16_000 }
const BOARDS_PER_OWNER = 20

type Of<Kind extends Call['kind']> = Extract<Call, { kind: Kind }>

export function checkAnswers(world: World, purses: Purses, calm: boolean): Violation[] {
  return world.attempts.flatMap((attempt) => {
    if (attempt.unknown && calm)
      return [{ rule: 'answers: none is missing while nothing is broken', text: describe(attempt) }]
    if (attempt.unknown) {
      // the 503 of the health endpoint has its own body (spec 5.2)
      const isHealth = attempt.call.kind === 'health' && attempt.status === 503
      if (attempt.status === null || isHealth || attempt.body.code === 'unavailable') return []
      return [{ rule: 'answers: never a 500', text: describe(attempt) }]
    }
    const allowed = allowedAnswers(world, purses, attempt)
    const answer = answerOf(attempt)
    if (allowed === undefined || allowed.has(answer)) return []
    return [
      {
        rule: 'answers: as the specification allows',
        text: `${describe(attempt)}; allowed: ${[...allowed].join(', ')}`,
      },
    ]
  })
}

function describe(attempt: Attempt): string {
  const { actor, call, startMs, endMs, n } = attempt
  return `${attempt.status === null ? 'nothing' : answerOf(attempt)} to ${actor} from ${startMs} to ${endMs}, request ${n}: ${JSON.stringify(call)}`
}

function answerOf({ status, body, call }: Attempt): string {
  if (body.code !== undefined) return `${status} ${body.code}`
  return call.kind === 'send' && status === 202 ? `202 ${body.lane}` : `${status}`
}

/** @returns undefined for calls that other checks cover. */
function allowedAnswers(world: World, purses: Purses, attempt: Attempt): ReadonlySet<string> | undefined {
  const { call, actor, startMs, endMs } = attempt
  const signerRevoked = revokedIn(world, attempt)
  const purse = purses.possible(attempt)
  switch (call.kind) {
    case 'send':
      return call.sent.isPost ? allowedToPost(call.sent) : allowedToDm(call.sent)
    case 'patch':
      return answers(statesOf({ signerRevoked, free: isFreePatch(call), ...purse }), answerToPaid)
    case 'contact':
      return answers(statesOf({ signerRevoked, free: isFreeContact(call), ...purse }), answerToPaid)
    case 'set-webhook':
      return answers(statesOf({ signerRevoked, free: NO, ...purse }), answerToPaid)
    case 'create-board': {
      const limitReached = ownsTooMany()
      return new Set([...statesOf({ signerRevoked, limitReached, ...purse })].flatMap(answersToCreate))
    }
    case 'role':
      return allowedToRole(call)
    case 'vote':
      return allowedToVote(call)
    case 'ack': {
      const sent = sentOf(call.id)
      const recipient = [sent?.to === actor]
      return answers(statesOf({ signerRevoked, gone: goneForAck(call.id), recipient }), answerToAck)
    }
    case 'receipt':
      return answers(statesOf({ signerRevoked, gone: goneForParticipant(call.id) }), answerToRead)
    case 'message': {
      const sent = sentOf(call.id)
      const gone = sent?.isPost ? goneForReader(call.id, sent) : goneForParticipant(call.id)
      return answers(statesOf({ signerRevoked, gone }), answerToRead)
    }
    case 'me':
    case 'budget':
    case 'contacts':
    case 'agents':
    case 'boards':
    case 'events':
    case 'inbox':
    case 'export':
    case 'thread':
    case 'health':
    case 'agent':
      return answers(statesOf({ signerRevoked, gone: NO }), answerToRead)
    case 'feed':
    case 'board': {
      const gone = [...roles(call.board, actor)].map((role) => !mayRead({ visibility: visibilityOf(call.board), role }))
      return answers(statesOf({ signerRevoked, gone }), answerToRead)
    }
    case 'webhook':
    case 'delete-webhook': {
      const set = [...world.webhook.of(actor).possible(startMs, endMs)]
      // a retry of a deletion finds the state that the first attempt left
      const gone = set.map((url) => url === null)
      return answers(statesOf({ signerRevoked, gone: call.kind === 'webhook' ? gone : MAYBE }), answerToRead)
    }
    case 'revoke':
      return answers(statesOf({ signerRevoked, gone: NO }), answerToRead)
    case 'hide':
    case 'members':
    case 'register':
      return undefined
  }

  function allowedToDm(sent: Sent): ReadonlySet<string> {
    const recipient = sent.to
    const isThere = recipient !== null && world.agents.has(recipient)
    return answers(
      statesOf({
        ...messageState(sent, DM_SIZE),
        toOneself: [recipient === actor],
        recipientGone: isThere ? world.revoked.of(recipient).possible(startMs, endMs) : YES,
        contact: isThere ? world.contact.of(recipient, actor).possible(startMs, endMs) : (['none'] as const),
        policy: isThere ? world.policy.of(recipient).possible(startMs, endMs) : (['requests'] as const),
        pending: isThere ? pendingOf(sent, recipient) : NO,
        ...purse,
      }),
      answerToDm,
    )
  }

  function allowedToPost(sent: Sent): ReadonlySet<string> {
    const board = sent.to ?? ''
    const { visibility = 'public', posting = 'members' } = world.boards.get(board) ?? {}
    return answers(
      statesOf({
        ...messageState(sent, POST_SIZE),
        visibility: [visibility],
        posting: [posting],
        role: roles(board, actor),
        ...purse,
      }),
      answerToPost,
    )
  }

  function messageState(sent: Sent, most: { bytes: number; characters: number }) {
    const same = world.exists(sent, startMs, endMs, attempt)
    const other = otherOf(sent)
    const earlier = new Set<'none' | 'same' | 'other'>()
    if (same.includes(true)) earlier.add('same')
    if (other.includes(true)) earlier.add('other')
    if (same.includes(false) && other.includes(false)) earlier.add('none')
    return {
      signerRevoked,
      tooLarge: [sent.bytes > most.bytes || (sent.characters ?? 0) > most.characters],
      earlier,
      expired: world.expired(sent, startMs, endMs),
      badReference: badReferenceOf(sent),
    }
  }

  /** Whether another envelope already has this id. */
  function otherOf(sent: Sent): readonly boolean[] {
    const digests = new Set(world.sends.get(sent.id)?.attempts.map(({ call: { sent: one } }) => one.digest))
    digests.delete(sent.digest)
    const each = [...digests].map((digest) => world.exists({ id: sent.id, digest }, startMs, endMs, attempt))
    return trilean(
      each.some((one) => !one.includes(false)),
      each.some((one) => one.includes(true)),
    )
  }

  /** Whether a reference is not allowed (spec 6.9). */
  function badReferenceOf({ replyTo, threadId, to, isPost }: Sent): readonly boolean[] {
    const each = [
      ...(replyTo === null ? [] : [badOf(replyTo, false)]),
      ...(threadId === null ? [] : [badOf(threadId, true)]),
    ]
    return trilean(
      each.some((one) => !one.includes(false)),
      each.some((one) => one.includes(true)),
    )

    function badOf(id: string, mustBeRoot: boolean): readonly boolean[] {
      const tries = world.sends.get(id)?.attempts ?? []
      const fits = ({ sent }: Of<'send'>): boolean =>
        sent.isPost === isPost &&
        (isPost ? sent.to === to : isPair(sent, actor, to)) &&
        (!mustBeRoot || sent.threadId === null)
      const fitting = tries.filter((one) => fits(one.call))
      const envelopes = new Map(fitting.map((one) => [one.call.sent.digest, one.call.sent]))
      let [good, possiblyGood] = [false, false]
      for (const sent of envelopes.values()) {
        const there = world.exists({ id, digest: sent.digest }, startMs, endMs)
        const gone = world.expired(sent, startMs, endMs)
        const hidden = isPost ? [...world.hidden.of(id).possible(startMs, endMs)] : NO
        // the model leaves open whether an owner may refer to a hidden post
        if (!there.includes(false) && !gone.includes(true) && !hidden.includes(true)) good = true
        if (there.includes(true) && gone.includes(false) && (hidden.includes(false) || ownsBoard(to)))
          possiblyGood = true
      }
      return good ? NO : trilean(!possiblyGood, true)
    }
  }

  /** Whether a request of the sender waits for the recipient's answer (spec 7.6). */
  function pendingOf({ id, digest }: Sent, recipient: string): readonly boolean[] {
    let [certain, possible] = [false, false]
    for (const other of world.sends.values()) {
      for (const {
        call: { sent },
        status,
        body,
        unknown,
        startMs: from,
        endMs: until,
      } of other.attempts) {
        if (sent.from !== actor || sent.to !== recipient || (sent.id === id && sent.digest === digest)) continue
        if (from > endMs || !(unknown || status === 200 || status === 202)) continue
        if (!world.expired(sent, startMs, endMs).includes(false)) continue
        if (status === 202 && body.lane === 'inbox') continue
        possible = true
        const isPending = status === 202 && body.lane === 'requests' && until <= startMs
        const mayBeAnswered = world.contact.of(recipient, actor).possible(from, endMs).has('accepted')
        if (isPending && !mayBeAnswered && !world.expired(sent, startMs, endMs).includes(true)) certain = true
      }
    }
    return trilean(certain, possible)
  }

  function isFreePatch({ policy, discoverable }: Of<'patch'>): readonly boolean[] {
    const policies = [...world.policy.of(actor).possible(startMs, endMs)]
    const shown = [...world.discoverable.of(actor).possible(startMs, endMs)]
    const sameShown = discoverable === undefined || shown.includes(discoverable)
    const samePolicy = policy === undefined || policy === 'closed' || policies.includes(policy)
    const certain = discoverable === undefined && policy === 'closed'
    // The possible states include the request's own change. So it is never certain that there was a change to pay for.
    return trilean(certain, sameShown && samePolicy)
  }

  function isFreeContact({ other, state }: Of<'contact'>): readonly boolean[] {
    if (state !== 'accepted') return YES
    return trilean(false, world.contact.of(actor, other).possible(startMs, endMs).has('accepted'))
  }

  function ownsTooMany(): readonly boolean[] {
    const mine = world.attempts.filter(
      (other) => other.call.kind === 'create-board' && other.actor === actor && other !== attempt,
    )
    const created = mine.filter(({ status, endMs: until }) => status === 201 && until <= startMs).length
    const begun = mine.filter(
      ({ status, unknown, startMs: from }) => (status === 201 || unknown) && from <= endMs,
    ).length
    return trilean(created >= BOARDS_PER_OWNER, begun >= BOARDS_PER_OWNER)
  }

  function allowedToRole({ board, agent, role: next }: Of<'role'>): ReadonlySet<string> {
    return answers(
      statesOf({
        signerRevoked,
        visibility: [visibilityOf(board)],
        own: [agent === actor],
        caller: roles(board, actor),
        current: roles(board, agent),
        targetRevoked: world.revoked.of(agent).possible(startMs, endMs),
        blocked: [...world.contact.of(agent, actor).possible(startMs, endMs)].map((contact) => contact === 'blocked'),
        next: [next],
        ...purse,
      }),
      answerToRole,
    )
  }

  function allowedToVote({ id, voted: wanted }: Of<'vote'>): ReadonlySet<string> {
    const sent = sentOf(id)
    const board = sent?.to ?? ''
    const { posting = 'members' } = world.boards.get(board) ?? {}
    return answers(
      statesOf({
        signerRevoked,
        gone: sent?.isPost ? goneOf(id, sent) : YES,
        hidden: world.hidden.of(id).possible(startMs, endMs),
        own: [sent?.from === actor],
        wanted: [wanted],
        voted: MAYBE,
        visibility: [visibilityOf(board)],
        posting: [posting],
        role: roles(board, actor),
        ...purse,
      }),
      answerToVote,
    )
  }

  function goneOf(id: string, sent: Sent): readonly boolean[] {
    const there = world.exists({ id, digest: sent.digest }, startMs, endMs)
    const expired = world.expired(sent, startMs, endMs)
    return trilean(!there.includes(true) || !expired.includes(false), there.includes(false) || expired.includes(true))
  }

  function goneForParticipant(id: string): readonly boolean[] {
    const sent = sentOf(id)
    if (sent === undefined) return world.exists({ id }, startMs, endMs).includes(true) ? MAYBE : YES
    if (sent.isPost || (sent.from !== actor && sent.to !== actor)) return YES
    return goneOf(id, sent)
  }

  function goneForAck(id: string): readonly boolean[] {
    return goneForParticipant(id)
  }

  function goneForReader(id: string, sent: Sent): readonly boolean[] {
    const gone = goneOf(id, sent)
    const board = sent.to ?? ''
    const shown = [...roles(board, actor)].flatMap((role: BoardRole) =>
      [...world.hidden.of(id).possible(startMs, endMs)].map(
        (hidden) => mayRead({ visibility: visibilityOf(board), role }) && (!hidden || role === 'owner'),
      ),
    )
    return trilean(!gone.includes(false) || !shown.includes(true), gone.includes(true) || shown.includes(false))
  }

  /** The envelope with this id, if only one envelope can have it. */
  function sentOf(id: string): Sent | undefined {
    const known = world.sends.get(id)
    if (known?.accepted !== undefined) return known.accepted
    const tries = known?.attempts.filter(({ unknown }) => unknown) ?? []
    const digests = new Set(tries.map(({ call: { sent } }) => sent.digest))
    return digests.size === 1 ? tries[0]?.call.sent : undefined
  }

  function roles(board: string, agent: string): ReadonlySet<BoardRole> {
    return world.roles(board, agent, startMs, endMs)
  }

  function visibilityOf(board: string) {
    return world.boards.get(board)?.visibility ?? 'public'
  }

  function ownsBoard(board: string | null): boolean {
    return world.boards.get(board ?? '')?.owner === actor
  }
}

function answers<State>(states: Iterable<State>, answer: (state: State) => string): ReadonlySet<string> {
  return new Set([...states].map(answer))
}

function isPair({ from, to }: Sent, one: string, other: string | null): boolean {
  return (from === one && to === other) || (from === other && to === one)
}
