import { NetworkError } from '@svc/sdk/errors.ts'

/** NATS, or a service behind it, does not answer the operator. Hints about the URL of the public API would not help. */
export class OperatorNetworkError extends NetworkError {
  override name = 'OperatorNetworkError'
}
