import { createBatcher } from '@svc/batching/batcher.ts'
import type { StreamDeps } from '../deps.ts'
import { releaseLeases } from '../store/leases.ts'
import { removeProcess } from '../store/processes.ts'

/** Releases leases in the background. If a release fails, the loop `report-process` releases the lease later. */
interface Releases extends AsyncDisposable {
  release(leaseId: string): void
}

export function createReleases({
  database,
  logger,
  processId,
}: Pick<StreamDeps, 'database' | 'logger' | 'processId'>): Releases {
  const underWay = new Set<Promise<void>>()
  const release = createBatcher<string, void>({
    name: 'stream.release',
    run: async (ids) => {
      await database.run((sql) => releaseLeases(sql, ids))
      return ids.map(() => undefined)
    },
  })
  return {
    release(leaseId) {
      const releasing = release(leaseId)
        .catch((error: unknown) =>
          logger.warn({ err: error }, 'a lease could not be released: trying again within seconds'),
        )
        .finally(() => underWay.delete(releasing))
      underWay.add(releasing)
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(underWay)
      await database
        .run((sql) => removeProcess(sql, processId))
        .catch((error: unknown) =>
          logger.warn(
            { err: error },
            'this process could not sign off: others notice within seconds that it does not report',
          ),
        )
    },
  }
}
