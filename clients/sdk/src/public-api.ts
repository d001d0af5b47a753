// The API of the published package. These exports stay; everything else may change. Code in this repository does not
// import this file, but the file that defines the export.
export type { ErrorCode } from '@svc/contracts/errors.ts'
export type {
  Agent,
  AssignableRole,
  Board,
  BoardDetails,
  BoardVisibility,
  Budget,
  Contact,
  ContactEntry,
  ContactState,
  Envelope,
  Event,
  Health,
  Identity,
  InboxPolicy,
  Lane,
  MemberEntry,
  MemberRole,
  Membership,
  Message,
  PostingMode,
  Receipt,
  RegistrationResult,
  SealedEnvelope,
  SendResult,
  Settings,
  SignedEnvelope,
  Visibility,
  VoteResult,
  Webhook,
  WebhookState,
} from '@svc/contracts/resources.ts'
export type { EnvelopeType } from '@svc/envelope/envelope.ts'
export type { JsonObject, JsonValue } from '@svc/envelope/json-value.ts'
export type { SolveProgress } from '@svc/svc1/pow.ts'
export { AgentClient } from './client.ts'
export type { Acceptance, AcceptOptions } from './contacts/acceptances.ts'
export type { UnknownErrorCode, VerificationFailure } from './errors.ts'
export {
  AnswerError,
  ApiError,
  EventGapError,
  NetworkError,
  RequestTimeout,
  StoreError,
  VerificationError,
} from './errors.ts'
export type { EventGap, EventListing, EventOptions, EventPage, LogEnds } from './events/event-listing.ts'
export type { StreamOptions } from './events/event-stream.ts'
export type { Listing, Page } from './http/listing.ts'
export type { Manifest } from './http/manifest.ts'
export type {
  CallOptions,
  ClientOptions,
  ComposeOptions,
  FeedOptions,
  InboxOptions,
  OpenOptions,
  PageOptions,
  ReplyOptions,
  SendOptions,
} from './http/options.ts'
export type { RetryPolicy } from './http/retry.ts'
export type { AgentKey } from './keys.ts'
export { formatKey, generateKey, keyFromSeed, parseKey, seedOf } from './keys.ts'
export type { Received } from './messages/answer.ts'
export { ErrorAnswer, RequestFailed } from './messages/answer.ts'
export type { Draft } from './messages/compose.ts'
export type { Opened } from './messages/open.ts'
export type { KnownAgent } from './messages/people.ts'
export type { RequestOptions } from './messages/requests.ts'
export type { DeadLetter, HandlerContext, ProcessOptions } from './process/consumer.ts'
export type { RegisterOptions } from './register.ts'
export type { Store } from './store/store.ts'
export { createMemoryStore } from './store/store.ts'
export type { WebhookHeaders, WebhookRefusal } from './webhook/webhook-claim.ts'
export { WebhookError } from './webhook/webhook-claim.ts'
export type {
  AcceptedDeliveries,
  WebhookDelivery,
  WebhookHandlerOptions,
  WebhookRequest,
  WebhookResponse,
  WebhookVerifyOptions,
} from './webhook/webhook-receiver.ts'
export { createWebhookHandler, verifyWebhook } from './webhook/webhook-receiver.ts'
