/** What each tool does, by name. What it is called, says and takes stands in `core/tool/`. */

import { acknowledge } from './acknowledge.ts'
import { edit } from './edit.ts'
import { glob } from './glob.ts'
import { grep } from './grep.ts'
import { inCheckout } from './in-checkout.ts'
import { promptsSave } from './prompts-save.ts'
import { pullRequest } from './pull-request.ts'
import { push } from './push.ts'
import { read } from './read.ts'
import { readRecords } from './read-records.ts'
import { reply } from './reply.ts'
import { report } from './report.ts'
import { route } from './route.ts'
import { shell } from './shell.ts'
import { skill } from './skill.ts'
import { todoWrite } from './todo-write.ts'
import type { ToolAnswer, ToolCall } from './tool-call.ts'
import { write } from './write.ts'

export const RUN: Readonly<Record<string, (call: ToolCall) => Promise<ToolAnswer>>> = {
  orchestrator_route: route,
  orchestrator_read: readRecords,
  orchestrator_prompts_save: promptsSave,
  orchestrator_acknowledge: acknowledge,
  orchestrator_report: report,
  read: inCheckout(read),
  write: inCheckout(write),
  edit: inCheckout(edit),
  glob: inCheckout(glob),
  grep: inCheckout(grep),
  shell: inCheckout(shell),
  todo_write: ({ input }) => todoWrite({ input: input as unknown as Parameters<typeof todoWrite>[0]['input'] }),
  skill,
  reply,
  github_push: push,
  github_pull_request: pullRequest,
}
