import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * Files whose tests wait for leases and deadlines to end. They take longest and use little CPU, so they start first and the
 * others run beside them.
 */
const WAITING =
  /\/faults?[./-]|\/faults\/|stack\.test|edge\/health|expiry|stream-limits|deliveries\.test|pages\.test|packages\.test/

/** The order of a run: files that wait, then the others, each in vitest's own order. */
export class WaitingFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const waits = ({ moduleId }: TestSpecification): boolean => WAITING.test(moduleId)
    return [...sorted.filter(waits), ...sorted.filter((file) => !waits(file))]
  }
}
