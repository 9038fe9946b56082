/**
 * A witness in a test's database (spec I1–I3): triggers that look, as each transaction commits, whether something started while
 * people held, and how the holds moved. It needs no clock: what starts shares the pause rows, so what is held at its commit was held.
 * Only tests have it; the owner's role installs it.
 */
import { sql } from 'kysely'
import pg from 'pg'
import type { Database } from '../ledger/database.ts'

const WITNESS = `
create table witness (
  id integer generated always as identity primary key,
  fault text not null check (fault in ('started', 'lifted', 'generation')),
  detail text not null,
  at timestamptz not null default clock_timestamp()
);
grant select on witness to public;

-- A request, a tool call that begins (again), an effect that leaves; the host's own words have no Session.
create function witness_start() returns trigger language plpgsql security definer as $$
begin
  insert into witness (fault, detail)
  select 'started', format('%s of %s, step %s, while %s was held by generation %s', tg_argv[0], new.session, new.step, pause.scope, pause.generation)
  from session join pause on pause.scope in ('all', case when session.ticket is null then 'main' else 'ticket-' || session.ticket end)
  where session.id = new.session and pause.held;
  return null;
end $$;
create constraint trigger witness after insert on request deferrable initially deferred
  for each row execute function witness_start('a request');
create constraint trigger witness after update on tool_call deferrable initially deferred
  for each row when (new.started_at is not null and new.outcome is null) execute function witness_start('a tool call');
create constraint trigger witness after update on outbox deferrable initially deferred
  for each row when (new.state = 'sent' and new.tries > old.tries and new.session is not null) execute function witness_start('an effect');

-- Each move of a pause row: one generation further, and written together with the command of the person who moved it.
create function witness_move() returns trigger language plpgsql security definer as $$
begin
  if tg_op = 'DELETE' then
    insert into witness (fault, detail) values ('generation', format('%s was removed', old.scope));
    return null;
  end if;
  if new.generation <> old.generation + 1 or new.held = old.held then
    insert into witness (fault, detail)
    values ('generation', format('%s went from %s (held: %s) to %s (held: %s)', new.scope, old.generation, old.held, new.generation, new.held));
  end if;
  if not new.held and not exists (
    select from command where kind = 'resume' and scope = new.scope and generation = new.generation and actor = new.actor and created_at = new.at
  ) then
    insert into witness (fault, detail) values ('lifted', format('%s, generation %s, without a command', new.scope, new.generation));
  end if;
  return null;
end $$;
create constraint trigger witness after update or delete on pause deferrable initially deferred
  for each row execute function witness_move();`

/** On a migrated database, before the product works in it. */
export async function installWitness(ownerUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: ownerUrl })
  await client.connect()
  try {
    await client.query(WITNESS)
  } finally {
    await client.end()
  }
}

export interface Witnessed {
  fault: 'started' | 'lifted' | 'generation'
  detail: string
  at: Date
}

export async function witnessed(db: Database): Promise<Witnessed[]> {
  const { rows } = await sql<Witnessed>`select fault, detail, at from witness order by id`.execute(db)
  return rows
}
