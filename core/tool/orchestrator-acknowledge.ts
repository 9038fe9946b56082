/** The receipt for a request (spec H2). */
import { z } from 'zod'
import { ledgerNumber } from './ledger-number.ts'
import { tool } from './tool.ts'

export const orchestratorAcknowledge = tool({
  name: 'orchestrator_acknowledge',
  for: ['executor'],
  nature: 'protocol',
  place: 'channel',
  description: `Tell the person who asked that their request is taken up: a reply under their message. "text" is one sentence that names the object and
the result to expect, so that they can correct you early: "I will make the login form keep the typed e-mail after a failed attempt and add a
test for it." No plan, no promise of a time.

While an acknowledgement is owed, tools that change or send anything are refused; reading is not, so read as much as you need to be concrete.
Once for each request: a second one is refused with the link to the first. The answer is the link, or that the place refuses messages for
good, in which case it is owed no longer.`,
  input: z.strictObject({
    message: ledgerNumber().describe('the number on the Trigger card'),
    text: z.string().trim().min(1).max(2000),
  }),
})
