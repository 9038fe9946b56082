/** What happened lately, in order: what the terminal tells while it happens. Reads only; the story of one Ticket is in `story.ts`. */
import { sql } from 'kysely'
import type { Database } from './database.ts'

export interface Happened {
  kind: 'delivery' | 'trigger' | 'routed' | 'ticket' | 'request' | 'call' | 'effect' | 'report' | 'end' | 'closed' | 'alarm' | 'alarm over'
  id: string
  at: Date
  // biome-ignore lint/suspicious/noExplicitAny: each kind has facts of its own, as the query below names them
  facts: any
}

/** Everything with a time after `since`. A transaction's time is its start, so ask again for the last seconds and skip what you know. */
export async function happenings(db: Database, since: Date): Promise<Happened[]> {
  const { rows } = await sql<Happened>`
    select * from (
      select 'delivery' as kind, id::text, received_at as at, jsonb_build_object('source', source, 'event', event, 'guid', guid) as facts
        from delivery where received_at > ${since}
      union all
      select 'trigger', t.id::text, t.created_at, jsonb_build_object('event', t.event, 'author', t.author_login, 'rule', t.rule, 'reason', t.reason,
          'repository', r.full_name, 'number', h.number, 'title', h.title)
        from trigger t join thread h on h.id = t.thread left join repository r on r.id = h.repository where t.created_at > ${since}
      union all
      select 'routed', c.id::text, c.decided_at, jsonb_build_object('state', c.state, 'ticket', c.ticket, 'reason', c.reason)
        from candidate c where c.decided_at > ${since}
      union all
      select 'ticket', k.id::text, k.created_at, jsonb_build_object('title', k.title, 'session', (select id from session where ticket = k.id order by number desc limit 1))
        from ticket k where k.created_at > ${since}
      union all
      select 'request', q.id::text, q.ended_at, jsonb_build_object('session', q.session, 'step', q.step, 'revision', q.revision, 'outcome', q.outcome,
          'input', q.input_tokens, 'output', q.output_tokens, 'error', q.error)
        from request q where q.ended_at > ${since}
      union all
      select 'call', concat_ws('/', c.session, c.step, c.call), c.ended_at, jsonb_build_object('session', c.session, 'tool', c.tool, 'input', c.input, 'outcome', c.outcome,
          'said', (select left(body, 400) from session_log l where l.session = c.session and l.step = c.step and l.call = c.call and c.outcome <> 'done'))
        from tool_call c where c.ended_at > ${since}
      union all
      select 'effect', o.id::text, o.settled_at, jsonb_build_object('session', o.session, 'effect', o.kind, 'key', o.key, 'state', o.state, 'url', o.url, 'payload', o.payload, 'error', o.error)
        from outbox o where o.settled_at > ${since}
      union all
      select 'report', p.id::text, p.created_at, jsonb_build_object('session', p.session, 'status', p.status, 'summary', p.body)
        from report p where p.created_at > ${since}
      union all
      select 'end', concat_ws('/', s.session, s.step), s.at, jsonb_build_object('session', s.session, 'outcome', s.outcome)
        from step s where s.at > ${since} and s.outcome <> 'tools'
      union all
      select 'closed', k.id::text, k.state_since, jsonb_build_object('reason', k.closed_reason)
        from ticket k where k.state = 'closed' and k.state_since > ${since}
      union all
      select 'alarm', a.id::text, a.raised_at, jsonb_build_object('subject', a.subject, 'body', a.body) from alarm a where a.raised_at > ${since}
      union all
      select 'alarm over', a.id::text, a.ended_at, jsonb_build_object('subject', a.subject, 'body', a.body) from alarm a where a.ended_at > ${since}
    ) as happened order by at, kind`.execute(db)
  return rows
}
