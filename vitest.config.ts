import { defineConfig } from 'vitest/config'
import { TestOrder } from './test/support/run/test-order.ts'

export default defineConfig({
  test: {
    include: [
      '{clients,libs,services}/*/{src,test}/**/*.test.ts',
      'deploy/{build,image,local,npm,release}/**/*.test.ts',
      'test/**/*.test.ts',
    ],
    exclude: ['**/node_modules/**'],
    globalSetup: ['test/support/run/global-setup.ts'],
    setupFiles: ['test/support/run/past-midnight.ts'],
    // Modules are loaded once per worker, not once per file. No file changes them, and each file stops everything that it
    // started.
    isolate: false,
    // Integration tests share two cores with Postgres and NATS. While some wait, others work. Three workers leave the processors idle
    // for an eighth of the time, and four leave no idle time.
    maxWorkers: 4,
    sequence: { sequencer: TestOrder },
    // Only a test that hangs takes this long, on a machine of any speed (test/support/eventually.ts).
    testTimeout: 180_000,
    hookTimeout: 240_000,
    teardownTimeout: 60_000,
  },
})
