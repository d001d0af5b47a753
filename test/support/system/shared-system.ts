import type { NatsUser } from '@svc/local/topology.ts'
import { watchAnswers } from '../description/described-answers.ts'
import { askBroker } from '../engines/engines.ts'

/**
 * Systems that the files of a run share (kept-systems.ts), because starting a system takes longer than most tests. `usual`
 * has the daily allowance of the specification. In `roomy` no test runs out of units or introductions.
 */
export type SharedKind = 'usual' | 'roomy'

/** The description of a kept system. */
export interface SystemFacts {
  readonly urls: readonly string[]
  readonly authority: string
  /** The URL of the superuser. */
  readonly adminUrl: string
  readonly natsFolder: string
  readonly natsUrls: Readonly<Record<NatsUser, string>>
}

/** A system that other tests use at the same time. Tests must not kill its processes or change its settings. */
export interface SharedSystem extends AsyncDisposable {
  readonly urls: readonly string[]
  readonly authority: string
  readonly database: { readonly adminUrl: string }
  readonly nats: { readonly folder: string; urlFor(user: NatsUser): string }
}

/**
 * Uses a shared system. Until the system is disposed, every answer that this process receives from it is checked against
 * its description.
 */
export async function shareSystem(kind: SharedKind): Promise<SharedSystem> {
  const { urls, authority, adminUrl, natsFolder, natsUrls } = await askBroker<SystemFacts>('POST', `systems/${kind}`)
  const answers = await watchAnswers(urls)
  return {
    urls,
    authority,
    database: { adminUrl },
    nats: { folder: natsFolder, urlFor: (user) => natsUrls[user] },
    async [Symbol.asyncDispose]() {
      answers[Symbol.dispose]()
      await askBroker('DELETE', `systems/${kind}`)
      answers.check()
    },
  }
}
