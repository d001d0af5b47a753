/** The services of the system. Add a new service to this list. */

export const SERVICES = ['budget', 'boards', 'webhook', 'messaging', 'identity', 'stream', 'gateway'] as const
export type ServiceName = (typeof SERVICES)[number]

/** Services stop group by group, so that the services that a service calls still run while it drains. They start at once. */
export const STOP_GROUPS: readonly (readonly ServiceName[])[] = [
  ['gateway'],
  ['stream'],
  ['messaging', 'identity'],
  ['boards', 'webhook'],
  ['budget'],
]

/** The services with a database schema. The schema has the service's name. */
export const STORES = [
  'budget',
  'boards',
  'webhook',
  'messaging',
  'identity',
  'stream',
] as const satisfies readonly ServiceName[]
export type StoreName = (typeof STORES)[number]

/** The users of deploy/nats/users.conf: every service and the operator. */
export const NATS_USERS = [...SERVICES, 'admin'] as const
export type NatsUser = (typeof NATS_USERS)[number]

/** Each user has two logins, and a process may use either (docs/operating/rotate.md). */
export const NATS_LOGINS = NATS_USERS.flatMap((user) => [user, `${user}_b`] as const)
export type NatsLogin = (typeof NATS_LOGINS)[number]
