/** Keeps the systems of shared-system.ts in the main process. */
import { NATS_USERS } from '@svc/local/topology.ts'
import type { SharedKind, SystemFacts } from './shared-system.ts'
import { type SystemOptions, startUnwatched, type TestSystem } from './system.ts'

const OPTIONS: Record<SharedKind, SystemOptions> = {
  // Pages of any origin may use it. That changes no answer to a client that is no browser.
  usual: { env: { SVC_CORS_ORIGINS: '*' } },
  roomy: {
    env: { SVC_DAILY_FREE_UNITS: '100000', SVC_DAILY_HARD_LIMIT: '100000', SVC_DAILY_INTRODUCTIONS: '1000' },
  },
}
/** An idle system uses a tenth of a core, so a system without users is stopped after this time. */
const IDLE_MS = 20_000

interface Kept {
  readonly system: Promise<TestSystem>
  leases: number
  ending?: NodeJS.Timeout
}

interface KeptSystems {
  lease(name: string): Promise<SystemFacts>
  release(name: string): void
  close(): Promise<void>
}

/** Starts a system when a file first needs it. */
export function keepSystems(): KeptSystems {
  const running = new Map<string, Kept>()
  const endings = new Set<Promise<void>>()

  return {
    async lease(name) {
      const options = OPTIONS[name as SharedKind]
      if (options === undefined) throw new Error(`no shared system is called ${name}`)
      // No await comes between the lookup and the update, so two files that start at once share one system.
      const kept = running.get(name) ?? { system: startUnwatched(options), leases: 0 }
      running.set(name, kept)
      clearTimeout(kept.ending)
      kept.leases += 1
      try {
        return factsOf(await kept.system)
      } catch (error) {
        if (running.get(name) === kept) running.delete(name)
        throw error
      }
    },
    release(name) {
      const kept = running.get(name)
      if (kept === undefined) return
      kept.leases -= 1
      if (kept.leases === 0) kept.ending = setTimeout(() => void end(name, kept), IDLE_MS)
    },
    async close() {
      await Promise.all([...[...running].map(([name, kept]) => end(name, kept)), ...endings])
    },
  }

  function end(name: string, kept: Kept): Promise<void> {
    clearTimeout(kept.ending)
    running.delete(name)
    // the file that requested the system gets the error if the start fails
    const ending = kept.system.then(
      (system) => system[Symbol.asyncDispose](),
      () => {},
    )
    endings.add(ending)
    return ending.finally(() => endings.delete(ending))
  }
}

function factsOf({ urls, authority, database, nats }: TestSystem): SystemFacts {
  return {
    urls,
    authority,
    adminUrl: database.adminUrl,
    natsFolder: nats.folder,
    natsUrls: Object.fromEntries(NATS_USERS.map((user) => [user, nats.urlFor(user)])) as SystemFacts['natsUrls'],
  }
}
