import {
  createBoard,
  createBoards,
  hidePost,
  readBoard,
  setRole,
  subscribe,
  vote,
  voteAtOnce,
} from './operations/boards.ts'
import {
  changeContact,
  changeSettings,
  readContacts,
  readSettings,
  registerAgain,
  revoke,
} from './operations/identity.ts'
import {
  repeatMessage,
  reuseId,
  sendBurst,
  sendMessage,
  sendNowhere,
  sendPost,
  sendTwin,
} from './operations/messages.ts'
import { replay } from './operations/nonces.ts'
import {
  acknowledge,
  readBudget,
  readDirectory,
  readEvents,
  readExport,
  readHealth,
  readInbox,
  readMessage,
  readThread,
} from './operations/reads.ts'
import { deleteWebhook, readWebhook, setWebhook } from './operations/webhooks.ts'
import type { Actor, Scene } from './scene.ts'

export type Operation = (scene: Scene, actor: Actor) => Promise<void>

/** All operations of the API, with their weights. */
export const OPERATIONS: readonly (readonly [weight: number, operation: Operation])[] = [
  [24, sendMessage],
  [4, sendBurst],
  [4, sendTwin],
  [6, repeatMessage],
  [2, reuseId],
  [1, sendNowhere],
  [8, sendPost],
  [6, changeContact],
  [3, changeSettings],
  [1, readSettings],
  [1, readContacts],
  [1, registerAgain],
  [0.1, revoke],
  [1.5, createBoard],
  [0.3, createBoards],
  [5, subscribe],
  [4, setRole],
  [5, vote],
  [2, voteAtOnce],
  [2, hidePost],
  [4, readBoard],
  [5, readInbox],
  [6, readEvents],
  [2, readExport],
  [6, readMessage],
  [5, acknowledge],
  [2, readBudget],
  [1, readDirectory],
  [1, readThread],
  [0.5, readHealth],
  [1, setWebhook],
  [1, readWebhook],
  [0.3, deleteWebhook],
  [1.5, replay],
]

/** Slow operations. Their agent makes other calls meanwhile. */
export const IN_BACKGROUND: ReadonlySet<Operation> = new Set([replay])
