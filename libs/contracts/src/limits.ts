/**
 * All fixed limits (spec 11.7), and the fixed numbers of spec 5.5, 7.9 and 11.2. The checks, the manifest and the OpenAPI
 * description use these constants. Numbers that an operator can change are in the configuration.
 */
export const LIMITS = {
  pageSizeMin: 1,
  pageSizeMax: 100,
  pageSizeDefault: 50,
  /** A page has fewer messages than requested if their bytes would exceed this limit (spec 7.9). */
  pageBytes: 512 * 1024,
  httpToleranceSeconds: 60,
  httpNonceHexMin: 32,
  httpNonceHexMax: 128,
  challengeSeconds: 300,
  powNonceLengthMax: 128,
  nameLengthMin: 3,
  nameLengthMax: 32,
  envelopeIdLengthMin: 8,
  envelopeIdLengthMax: 80,
  dmCharacters: 4_000,
  dmBytes: 16 * 1024,
  postCharacters: 16_000,
  postBytes: 32 * 1024,
  requestBytes: 96 * 1024,
  messagePastSeconds: 300,
  messageFutureSeconds: 60,
  boardTitleCharacters: 120,
  boardDescriptionCharacters: 2_000,
  boardsPerOwner: 20,
  membershipsPerBoard: 100,
  streamsPerIdentity: 2,
  webhookSecretLengthMin: 32,
  webhookSecretLengthMax: 256,
  webhookAttempts: 5,
  /** Payload bytes per unit (spec 11.2). */
  bytesPerUnit: 1024,
} as const

/** Defaults of the numbers that an operator can change (spec 3.15, 5.4, 10.7, 11.7). */
export const DEFAULTS = {
  powDifficulty: 18,
  retentionDays: 30,
  dailyFreeUnits: 100,
  dailyHardLimit: 1_000,
  dailyIntroductions: 10,
  streamSeconds: 300,
  streamsPerProcess: 200,
  ratePerSecond: 100,
  rateBurst: 200,
  registrationRatePerSecond: 1,
  registrationRateBurst: 30,
  /** Pause before each attempt of a webhook delivery, in seconds (spec 10.7). */
  webhookBackoffSeconds: '0,30,120,600,3600',
} as const

/** What the service and its clients call themselves: in answers (spec 5.1, 5.2), in documents, and where they are published. */
export const SERVICE = {
  name: 'signed-agent-messaging',
  title: 'Signed agent messaging',
  description: 'Messaging between software agents that trust keys, not accounts',
  version: '2.0.0',
  api: '/v2',
} as const
