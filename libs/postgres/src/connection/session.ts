/** The settings of every session of a service. A pool sends them when it connects; the role has them too, for sessions of a pooler. */

/** The server cancels a statement after this time. */
export const STATEMENT_TIMEOUT_MS = 4_000

/**
 * Every statement of a service is a few index lookups for a handful of keys. Its plan must not depend on the statistics at the
 * time it was cached: a plan made while a table was empty would scan the table for ever after. Planning each call anew costs
 * more than the statement itself (measured for a preflight of one message: 1.0 ms against 0.1 ms).
 */
const STABLE_PLANS = {
  plan_cache_mode: 'force_generic_plan',
  enable_seqscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  // An entry and its message are in partitions with the same bounds. So a page is joined within each partition.
  enable_partitionwise_join: 'on',
  jit: 'off',
}

/** Lets the server detect a client that vanished. Until then its session may hold locks and counts as a connection. */
const NOTICE_LOST_CLIENTS = {
  tcp_keepalives_idle: 10,
  tcp_keepalives_interval: 5,
  tcp_keepalives_count: 3,
  tcp_user_timeout: 25_000,
}

export const SESSION_SETTINGS: Readonly<Record<string, string | number>> = {
  ...timeouts(STATEMENT_TIMEOUT_MS),
  ...NOTICE_LOST_CLIENTS,
  ...STABLE_PLANS,
}

export function timeouts(statementMs: number): Readonly<Record<string, number>> {
  return { statement_timeout: statementMs, idle_in_transaction_session_timeout: statementMs * 2 }
}
