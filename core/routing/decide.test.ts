import { expect, test } from 'vitest'
import { decide, decideHandedBack, type Facts } from './decide.ts'

const member = { self: false, member: true }
const outsider = { self: false, member: false }
const agent = { self: true, member: false }

/** A plain message by nobody in particular in a Thread that nobody owns; each row says what is different. */
type Situation = Partial<Facts['trigger']> & {
  author?: Facts['author']
  answers?: Facts['answers']
  owners?: number[]
  context?: number[]
  openCard?: boolean
  concerns?: number[]
  listening?: string[]
}

function facts({
  author = member,
  answers = null,
  owners = [],
  context = [],
  openCard = false,
  concerns = [],
  listening = [],
  ...trigger
}: Situation): Facts {
  return {
    trigger: { kind: 'message', event: 'issue_comment.created', text: '', addressesAgent: false, mentionsAgent: false, ...trigger },
    author,
    answers,
    thread: { owners, context, openCard },
    concerns,
    listening,
  }
}

const table: [string, Situation, string][] = [
  ['[P1] what the agent wrote itself is dropped, even in its own Thread', { author: agent, owners: [1], addressesAgent: true }, 'dropped'],
  ["[P2] a member's exact word is a command", { text: 'Pause T-12!', addressesAgent: true }, 'command'],
  ['[P2] a bare word counts in a Thread that a live Ticket owns', { text: 'stop', owners: [1] }, 'command'],
  ['[P2] a bare word elsewhere is language', { text: 'stop' }, 'ignored'],
  ["[P2] an outsider's exact word is language", { author: outsider, text: 'pause', owners: [1] }, 'claims'],
  ['[P2] accept counts where a card is open', { text: 'accept', openCard: true }, 'command'],
  ['[P2] pause is a command even under a question', { text: 'pause', answers: { question: 'Q-3', ticket: 1 }, owners: [1] }, 'command'],
  ['[P3] a bare word under a question is the answer', { text: 'close', answers: { question: 'Q-3', ticket: 1 }, owners: [1] }, 'answer'],
  [
    "[P3] an outsider's reply to a question is no answer",
    { author: outsider, text: 'yes', answers: { question: 'Q-3', ticket: 1 }, owners: [1] },
    'claims',
  ],
  ['[P4] a message in an owned Thread goes to every owner', { text: 'also the docs?', owners: [1, 2] }, 'claims'],
  ["[P5] a Ticket's own red check is never new work", { kind: 'fact', concerns: [1], listening: ['fix-ci'] }, 'fact'],
  ["[P6] a member's explicit message is a candidate", { text: 'fix it', addressesAgent: true }, 'candidate'],
  ['[P6] what a rule listens to is a candidate', { author: outsider, text: 'broken', listening: ['triage'] }, 'candidate'],
  ['[P6] a fact that nobody owns and a rule listens to is a candidate', { kind: 'fact', listening: ['fix-ci'] }, 'candidate'],
  ['[P7] nobody asked', { text: 'nice weather' }, 'ignored'],
  ['[P7] an outsider who addresses the agent is ignored', { author: outsider, text: 'fix it', addressesAgent: true }, 'ignored'],
]

test.each(table)('%s', (_, situation, kind) => {
  expect(decide(facts(situation)).kind).toBe(kind)
})

test('[P7] an outsider who addresses the agent is to be told, a member who does not is not', () => {
  expect(decide(facts({ author: outsider, addressesAgent: true }))).toMatchObject({ tellAuthor: true, reason: 'only members can ask' })
  expect(decide(facts({}))).toMatchObject({ tellAuthor: false })
})

test("[P4] main gets a notice of a member's message only", () => {
  expect(decide(facts({ owners: [1] }))).toMatchObject({ noticeToMain: true })
  expect(decide(facts({ author: outsider, owners: [1] }))).toMatchObject({ noticeToMain: false })
})

test("[G2] a member's message that every owner handed back returns to main, an outsider's is decided as if nobody owned the Thread", () => {
  expect(decideHandedBack(facts({ owners: [1], text: 'hm' })).kind).toBe('candidate')
  expect(decideHandedBack(facts({ author: outsider, owners: [1], text: 'hm' })).kind).toBe('ignored')
})
