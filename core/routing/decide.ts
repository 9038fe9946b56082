/**
 * Who gets a Trigger: spec P1–P7, in that order. Facts in, decision out; the ledger gathers the facts first (what must be
 * asked from GitHub is asked before) and writes the decision in one transaction.
 */
import { type Command, parseCommand } from './command.ts'

export type Decision =
  | { rule: 'P1'; kind: 'dropped'; reason: string }
  | { rule: 'P2'; kind: 'command'; command: Command }
  | { rule: 'P3'; kind: 'answer'; question: string; informed: number[] }
  | { rule: 'P4'; kind: 'claims'; owners: number[]; informed: number[]; noticeToMain: boolean }
  | { rule: 'P5'; kind: 'fact'; tickets: number[] }
  | { rule: 'P6'; kind: 'candidate'; explicit: boolean; matchable: string[]; informed: number[] }
  | { rule: 'P7'; kind: 'ignored'; reason: string; tellAuthor: boolean }

export interface Facts {
  /** `text`: what a command is read from, without the mention. `addressesAgent`: a mention, a direct chat, a reply to the agent, an assignment or review request of the agent. */
  trigger: { kind: 'message' | 'fact'; event: string; text: string; addressesAgent: boolean; mentionsAgent: boolean }
  author: { self: boolean; member: boolean }
  /** The open question that this message certainly answers (spec H6). */
  answers: { question: string; ticket: number } | null
  /** Live Tickets only. */
  thread: { owners: number[]; context: number[]; openCard: boolean }
  /** Live Tickets whose pull request, branch, commit or review thread the fact is about. */
  concerns: number[]
  /** Enabled rules that listen to this event from this author; none while the mode is `explicit`. */
  listening: string[]
}

export function decide(facts: Facts): Decision {
  const { trigger, author, thread, answers } = facts
  if (author.self) return { rule: 'P1', kind: 'dropped', reason: 'written by this agent' }

  const command = commandIn(facts)
  if (command) return { rule: 'P2', kind: 'command', command }

  if (answers && author.member) {
    const informed = [...thread.owners, ...thread.context].filter((ticket) => ticket !== answers.ticket)
    return { rule: 'P3', kind: 'answer', question: answers.question, informed }
  }
  if (trigger.kind === 'message' && thread.owners.length > 0) {
    return { rule: 'P4', kind: 'claims', owners: thread.owners, informed: thread.context, noticeToMain: author.member }
  }
  if (trigger.kind === 'fact' && facts.concerns.length > 0) return { rule: 'P5', kind: 'fact', tickets: facts.concerns }

  const explicit = trigger.kind === 'message' && author.member && trigger.addressesAgent
  if (explicit || facts.listening.length > 0) {
    return { rule: 'P6', kind: 'candidate', explicit, matchable: facts.listening, informed: thread.context }
  }
  return {
    rule: 'P7',
    kind: 'ignored',
    reason: trigger.addressesAgent ? 'only members can ask' : `nobody asked, and no enabled rule listens to ${trigger.event}`,
    tellAuthor: trigger.addressesAgent && !author.member,
  }
}

/** What becomes of a message that every owner handed back (spec G2): a member's returns to the main Session, whatever it says. */
export function decideHandedBack(facts: Facts): Decision {
  const { trigger, author, thread } = facts
  if (!author.member) return decide({ ...facts, answers: null, thread: { ...thread, owners: [], context: [] } })
  return { rule: 'P6', kind: 'candidate', explicit: trigger.addressesAgent, matchable: facts.listening, informed: [] }
}

/** A member's exact word where it can only be meant for the agent; under a question a bare word is the answer, but for a pause. */
function commandIn({ trigger, author, thread, answers }: Facts): Command | null {
  const command = trigger.kind === 'message' && author.member ? parseCommand(trigger.text) : null
  if (!command) return null
  const cardWord = thread.openCard && (command.name === 'accept' || command.name === 'decline')
  if (!trigger.addressesAgent && thread.owners.length === 0 && !cardWord) return null
  const meantAsAnswer = answers !== null && !trigger.mentionsAgent && !command.target && command.name !== 'pause'
  return meantAsAnswer ? null : command
}
