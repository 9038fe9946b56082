/**
 * Writes `test/histories/*.json` anew, by hand: `node test/record-histories.ts`. The end-to-end tests whose workflows are kept run
 * once more and leave what Temporal holds of them; `test/replay.test.ts` replays the files against the workflows of today.
 */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const tests = ['main-job', 'pause', 'continue-as-new'].map((name) => `test/end-to-end/${name}.test.ts`)
const { status } = spawnSync(
  process.execPath,
  ['node_modules/vitest/vitest.mjs', 'run', ...tests, '--no-file-parallelism', '--reporter=default'],
  {
    cwd: root,
    env: { ...process.env, RECORD_HISTORIES: '1' },
    stdio: 'inherit',
  },
)
process.exitCode = status ?? 1
