import { NetworkError } from '@svc/sdk/errors.ts'

/** NATS, or a service behind it, does not answer the operator. What to do about the URL of the public API does not apply. */
export class OperatorNetworkError extends NetworkError {
  override name = 'OperatorNetworkError'
}
