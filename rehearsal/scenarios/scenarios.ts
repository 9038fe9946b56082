/** Every scenario, in the order in which the scripted model asks whose conversation it is. */
import type { Scenario } from '../model/script.ts'
import { fixFailingTest } from './fix-failing-test.ts'
import { secondServer } from './second-server.ts'

export const SCENARIOS: readonly Scenario[] = [fixFailingTest, secondServer]
