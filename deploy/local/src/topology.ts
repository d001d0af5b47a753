/** What the system consists of: the one list to extend with a service. */

export const SERVICES = ['budget', 'boards', 'webhook', 'messaging', 'identity', 'stream', 'gateway'] as const
export type ServiceName = (typeof SERVICES)[number]

/** Started one group after the other and stopped in the opposite order, so that what a service calls is there. */
export const START_GROUPS: readonly (readonly ServiceName[])[] = [
  ['budget'],
  ['boards', 'webhook'],
  ['messaging', 'identity'],
  ['stream'],
  ['gateway'],
]

/** Those with a database schema, which has the service's name. */
export const STORES = [
  'budget',
  'boards',
  'webhook',
  'messaging',
  'identity',
  'stream',
] as const satisfies readonly ServiceName[]
export type StoreName = (typeof STORES)[number]

/** The users of deploy/nats/users.conf: every service, and the operator. */
export const NATS_USERS = [...SERVICES, 'admin'] as const
export type NatsUser = (typeof NATS_USERS)[number]

/** Each user's two logins: a process may use either (docs/deploy.md, Rotation). */
export const NATS_LOGINS = NATS_USERS.flatMap((user) => [user, `${user}_b`] as const)
export type NatsLogin = (typeof NATS_LOGINS)[number]
