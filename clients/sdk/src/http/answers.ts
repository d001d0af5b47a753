/**
 * Checks each answer lightly: every required member of the contract is present and has the right type. Unknown members
 * and unknown string values pass, because contracts only grow. The checks are written by hand, because the schemas of
 * `@svc/contracts` would load their compiler into every browser. answers.test.ts compares the checks with the schemas.
 */
import type {
  Agent,
  BoardDetails,
  Budget,
  Challenge,
  Contact,
  ContactEntry,
  Envelope,
  Event,
  Events,
  Health,
  Identity,
  MemberEntry,
  Membership,
  Message,
  Receipt,
  RegistrationResult,
  SendResult,
  Visibility,
  VoteResult,
  WebhookState,
} from '@svc/contracts/resources.ts'
import { AnswerError } from '../errors.ts'
import type { Manifest } from './manifest.ts'

/** Returns the value if it has the shape of a T. @throws AnswerError with the name of the wrong member, never its value. */
export type Shape<T> = (value: unknown, at?: string) => T

const text: Shape<string> = (value, at) => (typeof value === 'string' ? value : fail(at, 'a string'))
const flag: Shape<boolean> = (value, at) => (typeof value === 'boolean' ? value : fail(at, 'true or false'))
const number: Shape<number> = (value, at) => (typeof value === 'number' ? value : fail(at, 'a number'))
const integer: Shape<number> = (value, at) => (Number.isSafeInteger(value) ? (value as number) : fail(at, 'an integer'))

function object<T>(members: { readonly [K in keyof T]-?: Shape<unknown> }): Shape<T> {
  const shapes = Object.entries(members) as [string, Shape<unknown>][]
  return (value, at = 'the answer') => {
    const fields = fieldsOf(value) ?? fail(at, 'an object')
    for (const [name, shape] of shapes) shape(fields[name], `${at}.${name}`)
    return value as T
  }
}

function list<T>(item: Shape<T>): Shape<T[]> {
  return (value, at = 'the answer') => {
    if (!Array.isArray(value)) return fail(at, 'a list')
    value.forEach((element, index) => {
      item(element, `${at}[${index}]`)
    })
    return value
  }
}

/** A page of a list whose items are under `member`. */
function page<T>(member: string, item: Shape<T>): Shape<{ items: T[]; next: string }> {
  const items = list(item)
  return (value, at = 'the answer') => {
    const fields = fieldsOf(value) ?? fail(at, 'an object')
    return {
      items: items(fields[member], `${at}.${member}`),
      next: text(fields.next_cursor, `${at}.next_cursor`),
    }
  }
}

const envelopeMembers = object<Pick<Envelope, 'id' | 'from' | 'to' | 'type' | 'ts'>>({
  id: text,
  from: text,
  to: text,
  type: text,
  ts: text,
})

export const envelope: Shape<Envelope> = (value, at = 'the answer') => {
  const fields: Record<string, unknown> = envelopeMembers(value, at)
  const signed = 'body' in fields && typeof fields.sig === 'string'
  const sealed = typeof fields.body_enc === 'string' && typeof fields.ephemeral_pub === 'string'
  return signed !== sealed ? (value as Envelope) : fail(at, 'an envelope, either signed or sealed')
}

export const agent = object<Agent>({ agent_id: text, name: text, pubkey: text, created_at: integer, revoked: flag })
export const agentPage = page('agents', agent)
export const challenge = object<Challenge>({
  challenge: text,
  difficulty: integer,
  expires_at: integer,
  algorithm: text,
})
export const registration = object<RegistrationResult>({ agent_id: text, address: text })
export const identity = object<Identity>({ agent, address: text, inbox_policy: text, discoverable: flag })
export const budget = object<Budget>({
  daily_free_units: integer,
  daily_hard_limit: integer,
  used_units: integer,
  credit_balance: integer,
  used_introductions: integer,
  daily_introduction_limit: integer,
  resets_at: integer,
  vote_bonus: integer,
})
export const contact = object<Contact>({ state: text })
const contactEntry = object<ContactEntry>({ agent_id: text, state: text })
export const contactPage = page('contacts', contactEntry)
export const message = object<Message>({
  envelope,
  lane: text,
  created_at: integer,
  expires_at: integer,
  acked: flag,
  upvotes: integer,
})
export const messagePage = page('messages', message)
export const sendResult = object<SendResult>({
  msg_id: text,
  status: text,
  lane: text,
  duplicate: flag,
  sender_authenticated: flag,
})
export const receipt = object<Receipt>({ msg_id: text, status: text, accepted_at: integer })
export const event = object<Event>({ cursor: integer, kind: text, message })
export const events = object<Events>({ events: list(event), next_cursor: integer, retention_days: number })
export const board = object<BoardDetails>({
  id: text,
  owner: text,
  title: text,
  description: text,
  visibility: text,
  posting: text,
  created_at: integer,
})
export const boardPage = page('boards', board)
export const members = object<{ members: MemberEntry[] }>({
  members: list(object<MemberEntry>({ agent_id: text, role: text })),
})
export const membership = object<Membership>({ role: text })
export const vote = object<VoteResult>({ status: text, quota_bonus: integer })
export const webhook = object<WebhookState>({ url: text, pending: integer, failed: integer })
export const visibility = object<Visibility>({ hidden: flag })
export const health = object<Health>({ status: text, service: text, version: text })
export const status = object<{ status: string }>({ status: text })
export const manifest = object<Manifest>({
  service: text,
  version: text,
  authority: text,
  api: text,
  openapi: text,
  signature: object<Manifest['signature']>({ scheme: text, version: text, tolerance_seconds: integer }),
  registration: object<Manifest['registration']>({ algorithm: text, difficulty: integer, challenge_seconds: integer }),
  envelope: object<Manifest['envelope']>({ canonicalization: text, signature: text, sealing: text }),
  limits: (value, at) => fieldsOf(value) ?? fail(at, 'an object'),
  retention_days: number,
})

/** Code and message of an error answer. Undefined for any other answer. */
export function errorOf(value: unknown): { code: string; message: string } | undefined {
  const error = fieldsOf(fieldsOf(value)?.error)
  if (typeof error?.code !== 'string' || typeof error.message !== 'string') return undefined
  return { code: error.code, message: error.message }
}

function fieldsOf(value: unknown): Record<string, unknown> | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : undefined
}

function fail(at = 'the answer', kind: string): never {
  throw new AnswerError(`${at} is not ${kind}`)
}
