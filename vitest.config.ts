/** One Postgres and one Temporal for the whole run; each test file in a process of its own (the Temporal worker is a native addon). */
import { defineConfig } from 'vitest/config'

export default defineConfig({
  test: {
    // most of an end-to-end test is waiting, for Temporal and for processes
    maxWorkers: 3,
    include: ['**/*.test.ts'],
    exclude: ['**/node_modules/**', '.switchyard/**', 'test/histories/**'],
    pool: 'forks',
    globalSetup: 'test/global-setup.ts',
    testTimeout: 60_000,
    hookTimeout: 60_000,
    reporters: ['default', ['json', { outputFile: 'reports/tests.json' }]],
  },
})
