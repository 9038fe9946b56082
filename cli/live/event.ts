/** What the terminal tells while a Ticket is worked: a closed list in the order in which a story usually has them. */

export type LiveEvent = { at: number /* milliseconds since 1970 */ } & Happening

export type Happening =
  | { kind: 'delivery'; source: 'github' | 'feishu'; event: string; id: string }
  | { kind: 'trigger'; message: number; event: string; place: string; author: string; decision: string; reason?: string }
  | { kind: 'routed'; candidate: string; decision: 'start' | 'attach' | 'ignore'; ticket?: string; reason?: string }
  | { kind: 'ticket'; ticket: string; title: string; executor: string }
  | { kind: 'model step'; who: string; step: number; revision: number; inputTokens: number; outputTokens: number }
  | { kind: 'tool call'; who: string; tool: string; target: string; outcome: CallOutcome; detail?: string }
  | { kind: 'comment'; who: string; purpose: string; url: string }
  | { kind: 'push'; who: string; branch: string; sha: string }
  | {
      kind: 'pull request'
      who: string
      action: 'opened' | 'ready' | 'draft' | 'updated' | 'closed'
      title: string
      url: string
    }
  | { kind: 'report'; who: string; status: string; summary: string }
  | { kind: 'turn ended'; who: string; outcome: string }
  | { kind: 'closed'; ticket: string; reason: string }
  | { kind: 'alarm'; who: string; what: string }
  | { kind: 'alarm over'; who: string; what: string }

export type CallOutcome = 'done' | 'refused' | 'failed' | 'interrupted'
