import type { KdfParameters } from '../vault/header.ts'

/** The tasks that the page gives its worker. */
export type Task =
  | { readonly kind: 'solve'; readonly challenge: string; readonly difficulty: number }
  | { readonly kind: 'derive'; readonly passphrase: string; readonly parameters: KdfParameters }

export type TaskResult =
  | { readonly kind: 'progress'; readonly progress: WorkProgress }
  | { readonly kind: 'done'; readonly value: string | Uint8Array<ArrayBuffer> }
  | { readonly kind: 'failed'; readonly message: string }

export interface WorkProgress {
  readonly hashes: number
  /** The mean number of hashes until one fits. The chance of having finished is 1 − e^(−hashes / expectedHashes). */
  readonly expectedHashes: number
}
