/** The main Session's workflow, `main`: it never completes. */
import { makeContinueAsNewFunc } from '@temporalio/workflow'
import { MAIN } from '../core/ticket/scope.ts'
import { live } from './session.ts'

export interface MainInput {
  /** Continue as new above this many history events. Tests set it low, 60 or more. */
  rollAfter?: number
}

export async function mainSession(input: MainInput): Promise<void> {
  await live({ scope: MAIN, rollAfter: input.rollAfter })
  await makeContinueAsNewFunc<typeof mainSession>()(input)
}
