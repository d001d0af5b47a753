/** Of all clients together, without connections of trusted proxies. Each connection takes about 15 KB. */
const MAX_CONNECTIONS = 10_000

/** Limits for clients. Timeouts are in milliseconds, sizes in bytes; see `http.createServer`. */
export const SERVER_LIMITS: ServerLimits = {
  maxConnections: MAX_CONNECTIONS,
  maxHeaderSize: 16 * 1024,
  headersTimeout: 10_000,
  /** For a whole request, body included. */
  requestTimeout: 20_000,
  connectionsCheckingInterval: 1_000,
  /** Most load balancers drop an idle connection after 60 s. This is longer, so that the load balancer closes first. */
  keepAliveTimeout: 72_000,
  /** Without a byte in either direction, for example because a client does not read its answer. Then the connection is closed. */
  connectionTimeout: 90_000,
}

/** A request must have fewer headers than this (pipeline.ts). */
export const MAX_HEADERS = 128

export interface ServerLimits {
  readonly maxConnections: number
  readonly maxHeaderSize: number
  readonly headersTimeout: number
  readonly requestTimeout: number
  readonly connectionsCheckingInterval: number
  readonly keepAliveTimeout: number
  readonly connectionTimeout: number
}
