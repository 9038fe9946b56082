-- The ledger: every word and every decision. Append-only where a word was said (design §3, spec K1, O6).
--
-- Rows that may not change carry hashes; their words stand in `body` columns that only the owner's purge may empty, once.

-- Guards -----------------------------------------------------------------------------------------------------------------

-- Refuses every change but: columns named in the trigger (`column`: free, `=column`: written once, later than the row, `~column`:
-- replaced while the row's state says that nothing was sent), and a purge of words by the owner of the table, who says so with
-- `SET LOCAL switchyard.purge = 'on'`.
create function refuse_change() returns trigger language plpgsql as $$
declare
  before jsonb;
  after jsonb;
  argument text;
begin
  if tg_op = 'UPDATE' then
    before := to_jsonb(old);
    after := to_jsonb(new);
    foreach argument in array coalesce(tg_argv, '{}') loop
      if argument like '~%' then
        if before ->> 'state' in ('intent', 'failed', 'dropped') and after -> substr(argument, 2) <> 'null' then
          before := before - substr(argument, 2);
          after := after - substr(argument, 2);
        end if;
      elsif argument not like '=%' then
        before := before - argument;
        after := after - argument;
      elsif before -> substr(argument, 2) = 'null' then
        before := before - substr(argument, 2);
        after := after - substr(argument, 2);
      end if;
    end loop;
    if coalesce(current_setting('switchyard.purge', true), '') = 'on'
      and pg_has_role(session_user, (select relowner from pg_class where oid = tg_relid), 'USAGE')
      and before -> 'body' <> 'null' and after -> 'body' = 'null' and after -> 'purged_at' <> 'null' then
      before := before - 'body' - 'purged_at';
      after := after - 'body' - 'purged_at';
    end if;
    if before = after then
      return new;
    end if;
  end if;
  raise exception '% of table % refused: its rows are written once', tg_op, tg_table_name using errcode = 'restrict_violation';
end $$;

create procedure guard(target text, variadic columns text[] default '{}') language plpgsql as $$
declare
  arguments text := coalesce((select string_agg(quote_literal(c), ', ') from unnest(columns) c), '');
begin
  execute format('create trigger guard_rows before update or delete on %I for each row execute function refuse_change(%s)', target, arguments);
  execute format('create trigger guard_table before truncate on %I for each statement execute function refuse_change()', target);
  execute format('alter table %I enable always trigger guard_rows, enable always trigger guard_table', target);
end $$;

-- A hint that something waits; correctness never rests on it.
create function hint() returns trigger language plpgsql as $$
begin
  perform pg_notify('switchyard', tg_table_name);
  return null;
end $$;

-- Texts and configuration -------------------------------------------------------------------------------------------------

create table text (
  sha bytea primary key,
  body text,
  bytes integer not null,
  purged_at timestamptz,
  check (case when body is null then purged_at is not null else sha = sha256(convert_to(body, 'UTF8')) end)
);
call guard('text');

create table prompt_revision (
  revision integer primary key,
  predecessor integer unique references prompt_revision,
  created_at timestamptz not null default now(),
  origin text not null check (origin in ('built-in', 'panel', 'tool', 'cli')),
  actor text not null,
  note text,
  restored integer references prompt_revision,
  -- The message that asked for it, where a model saved (spec B8).
  basis integer,
  document bytea not null references text,
  check (case when revision = 1 then predecessor is null else predecessor = revision - 1 end)
);
call guard('prompt_revision');

create table policy_version (
  version integer primary key,
  predecessor integer unique references policy_version,
  created_at timestamptz not null default now(),
  origin text not null check (origin in ('built-in', 'panel', 'tool', 'cli')),
  actor text not null,
  note text,
  restored integer references policy_version,
  -- The message that asked for it, where a model saved (spec B8).
  basis integer,
  document bytea not null references text,
  check (case when version = 1 then predecessor is null else predecessor = version - 1 end)
);
call guard('policy_version');

-- Inbound -----------------------------------------------------------------------------------------------------------------

create table delivery (
  id integer generated always as identity primary key,
  source text not null check (source in ('github', 'feishu')),
  transport text not null,
  hook text not null,
  guid text not null,
  event text not null,
  headers jsonb not null,
  body text,
  sha bytea not null,
  purged_at timestamptz,
  -- Deliveries with the same value are decided in the order in which they came.
  place text,
  received_at timestamptz not null default now(),
  state text not null default 'pending' check (state in ('pending', 'normalised', 'ignored', 'failed')),
  reason text,
  tries integer not null default 0,
  next_try_at timestamptz not null default now(),
  settled_at timestamptz,
  unique (source, hook, guid)
);
create index delivery_pending on delivery (place, id) where state = 'pending';
-- Large and seldom read: the time that compression takes is the larger part of what storing costs.
alter table delivery alter column body set storage external;
call guard('delivery', 'state', 'reason', 'tries', 'next_try_at', '=settled_at');
create trigger hint after insert on delivery for each statement execute function hint();

-- How far a Source's own log of its deliveries was read (spec M3).
create table watermark (
  source text primary key,
  -- What was said before the ledger was there is not its business.
  born_at timestamptz not null default now(),
  -- Everything older was looked at, to the last page.
  read_to timestamptz not null default now(),
  -- A listing that was too long for one round: when it began, and where it goes on.
  listing_began timestamptz,
  listing_cursor text,
  failing_since timestamptz,
  next_try_at timestamptz not null default now(),
  check ((listing_began is null) = (listing_cursor is null))
);

create table repository (
  id integer generated always as identity primary key,
  source text not null,
  external_id text not null,
  full_name text not null,
  private boolean not null,
  default_branch text not null,
  unique (source, external_id)
);

create table thread (
  id integer generated always as identity primary key,
  key text not null unique,
  source text not null,
  kind text not null check (kind in ('issue', 'pull_request', 'review_thread', 'repository')),
  repository integer references repository,
  number integer,
  title text not null,
  url text not null,
  created_at timestamptz not null default now()
);

create table account (
  id integer generated always as identity primary key,
  source text not null,
  external_id text not null,
  login text not null,
  kind text not null check (kind in ('user', 'bot', 'unknown')),
  unique (source, external_id)
);

-- What a Source said about an account's permission in a repository (spec Q1); old answers are asked again.
create table membership (
  account integer not null references account,
  repository integer not null references repository,
  permission text not null check (permission in ('admin', 'maintain', 'write', 'triage', 'read', 'none')),
  asked_at timestamptz not null,
  primary key (account, repository)
);

create table trigger (
  id integer generated always as identity primary key,
  key text not null unique,
  delivery integer not null references delivery,
  thread integer not null references thread,
  kind text not null check (kind in ('message', 'fact')),
  event text not null,
  object text not null,
  author integer references account,
  author_login text not null,
  -- As verified when it was decided: a later loss of membership does not change what was.
  member boolean not null,
  body text,
  sha bytea not null,
  purged_at timestamptz,
  url text not null,
  happened_at timestamptz not null,
  created_at timestamptz not null default now(),
  mentions_agent boolean not null,
  addresses_agent boolean not null,
  refs jsonb not null,
  facts jsonb not null,
  rule text not null check (rule in ('P1', 'P2', 'P3', 'P4', 'P5', 'P6', 'P7')),
  reason text not null
);
create index trigger_object on trigger (object);
create index trigger_thread on trigger (thread, id);
call guard('trigger');

-- Work --------------------------------------------------------------------------------------------------------------------

create table ticket (
  id integer generated always as identity primary key,
  state text not null default 'working' check (state in ('queued', 'working', 'waiting', 'blocked', 'closed')),
  closed_reason text check (closed_reason in ('delivered', 'merged', 'cannot_complete', 'yielded', 'stopped', 'withdrawn')),
  opening integer not null default 1,
  title text not null,
  origin integer not null references thread,
  repository integer references repository,
  created_at timestamptz not null default now(),
  state_since timestamptz not null default now(),
  check ((state = 'closed') = (closed_reason is not null))
);

create table mandate (
  ticket integer not null references ticket,
  seq integer not null,
  basis jsonb not null,
  requester integer references account,
  trigger integer references trigger,
  repositories integer[] not null,
  effects text[] not null check (effects <@ array['comment', 'branch', 'pull_request', 'review', 'merge', 'chat']),
  note text not null,
  created_at timestamptz not null default now(),
  primary key (ticket, seq)
);
call guard('mandate');

create table candidate (
  id integer generated always as identity primary key,
  trigger integer not null unique references trigger,
  thread integer not null references thread,
  explicit boolean not null,
  matchable jsonb not null,
  state text not null default 'waiting' check (state in ('waiting', 'started', 'attached', 'ignored', 'stuck', 'withdrawn')),
  round integer not null default 1,
  reasons jsonb not null default '[]',
  ticket integer references ticket,
  reason text,
  decided_by text,
  decided_at timestamptz,
  policy_version integer references policy_version,
  created_at timestamptz not null default now()
);
create index candidate_waiting on candidate (thread) where state = 'waiting';

create table subscription (
  ticket integer not null references ticket,
  thread integer not null references thread,
  role text not null check (role in ('owner', 'context')),
  since timestamptz not null default now(),
  ended_at timestamptz,
  primary key (ticket, thread)
);
create index subscription_thread on subscription (thread) where ended_at is null;

create table claim (
  trigger integer not null references trigger,
  ticket integer not null references ticket,
  state text not null check (state in ('pending', 'claimed', 'returned', 'ended', 'withdrawn')),
  reason text,
  created_at timestamptz not null default now(),
  primary key (trigger, ticket)
);
create index claim_ticket on claim (ticket, state);

create table pull_request (
  id integer generated always as identity primary key,
  ticket integer not null references ticket,
  repository integer not null references repository,
  number integer not null,
  external_id text not null,
  node_id text not null,
  url text not null,
  branch text not null,
  base text not null,
  head text not null,
  draft boolean not null,
  state text not null default 'open' check (state in ('open', 'closed', 'merged')),
  created_at timestamptz not null default now(),
  unique (repository, number)
);
create index pull_request_ticket on pull_request (ticket);

-- Branches and commits that a Ticket pushed: how a check result finds the Ticket it concerns (spec P5).
create table push (
  ticket integer not null references ticket,
  repository integer not null references repository,
  branch text not null,
  sha text not null,
  pushed_at timestamptz not null default now(),
  primary key (repository, branch, sha)
);
create index push_sha on push (sha);

-- Sessions ----------------------------------------------------------------------------------------------------------------

create table session (
  id text primary key,
  role text not null check (role in ('main', 'executor', 'subagent')),
  ticket integer references ticket,
  number integer not null,
  opened_at timestamptz not null default now(),
  ended_at timestamptz,
  -- The commit on which it started, and that commit's AGENTS.md (spec C2, N12).
  base_commit text,
  agents_md bytea references text
);
create index session_ticket on session (ticket, number);

create table session_log (
  session text not null references session,
  seq integer not null,
  kind text not null check (kind in ('input', 'answer', 'result')),
  step integer not null,
  call text,
  body text,
  sha bytea not null,
  purged_at timestamptz,
  at timestamptz not null default now(),
  primary key (session, seq),
  check ((kind = 'result') = (call is not null))
);
-- Of two live attempts of one step, or of one call, one wins.
create unique index session_log_answer on session_log (session, step) where kind = 'answer';
create unique index session_log_result on session_log (session, step, call) where kind = 'result';
call guard('session_log');

create table request (
  id integer generated always as identity primary key,
  session text not null references session,
  step integer not null,
  revision integer not null references prompt_revision,
  policy_version integer not null references policy_version,
  sections jsonb not null,
  tools bytea not null references text,
  -- Every log entry up to here, then these inputs: what the model saw, in order.
  log_seq integer not null,
  inputs jsonb not null,
  -- Of the deployment and the Session, beside texts and log: what a replay assembles the prompt from (spec D9).
  facts jsonb not null,
  provider text not null,
  model text not null,
  opened_at timestamptz not null default now(),
  ended_at timestamptz,
  outcome text check (outcome in ('answered', 'outrun', 'failed', 'cut off')),
  error text,
  finish_reason text,
  input_tokens integer,
  cached_tokens integer,
  output_tokens integer,
  -- Of the HTTP body as it went out: a body that is rebuilt later can be told from it (spec C8).
  wire_sha bytea
);
create index request_session on request (session, step);
call guard('request', '=ended_at', '=outcome', '=error', '=finish_reason', '=input_tokens', '=cached_tokens', '=output_tokens',
  '=wire_sha');

-- What a provider answered, as it came over the wire, while people had recording on (spec D9).
create table recording (
  request integer primary key references request,
  status integer not null,
  content_type text not null,
  body text,
  sha bytea not null,
  purged_at timestamptz,
  at timestamptz not null default now()
);
call guard('recording');

-- A finished step. Only what never changes is stored: the calls it made, or how the turn ended.
create table step (
  session text not null references session,
  step integer not null,
  outcome text not null check (outcome in ('tools', 'end', 'more', 'closed')),
  request integer references request,
  at timestamptz not null default now(),
  primary key (session, step)
);
call guard('step');

create table tool_call (
  session text not null,
  step integer not null,
  call text not null,
  position integer not null,
  tool text not null,
  input jsonb not null,
  fault text,
  nature text not null,
  place text not null,
  started_at timestamptz,
  ended_at timestamptz,
  outcome text check (outcome in ('done', 'refused', 'failed', 'interrupted')),
  primary key (session, step, call),
  foreign key (session, step) references step
);
call guard('tool_call', '=started_at', '=ended_at', '=outcome');

-- Nested AGENTS.md files that a Session was shown, each with the call whose result holds it (spec N12).
create table instruction_file (
  session text not null references session,
  path text not null,
  bytes integer not null,
  step integer not null,
  call text not null,
  primary key (session, path)
);
call guard('instruction_file');

create table inbox (
  id integer generated always as identity primary key,
  address text not null check (address = 'main' or address ~ '^ticket-[0-9]+$'),
  kind text not null check (kind in ('candidate', 'assignment', 'message', 'information', 'fact', 'report', 'notice', 'note', 'answer', 'job', 'reminder', 'handoff')),
  trigger integer references trigger,
  candidate integer references candidate,
  report integer,
  body text,
  purged_at timestamptz,
  created_at timestamptz not null default now(),
  signalled_at timestamptz,
  next_signal_at timestamptz not null default now(),
  seen_at timestamptz,
  -- The Session and step that took it in; or why it will never be shown.
  session text,
  step integer,
  dropped text
);
create index inbox_open on inbox (address, id) where session is null and dropped is null;
create index inbox_unsignalled on inbox (next_signal_at) where session is null and dropped is null;
call guard('inbox', 'signalled_at', 'next_signal_at', 'seen_at', '=session', '=step', '=dropped');
create trigger hint after insert on inbox for each statement execute function hint();

create table report (
  id integer generated always as identity primary key,
  ticket integer not null references ticket,
  session text not null references session,
  step integer not null,
  call text not null,
  status text not null check (status in ('progress', 'draft', 'done', 'cannot_complete', 'yielded')),
  body text,
  purged_at timestamptz,
  evidence jsonb not null,
  pull_request integer references pull_request,
  created_at timestamptz not null default now(),
  unique (session, step, call)
);
call guard('report');

create table outbox (
  id integer generated always as identity primary key,
  -- What the effect is (spec M4), never when it was asked for.
  key text not null unique,
  ticket integer references ticket,
  session text,
  step integer,
  call text,
  kind text not null,
  thread integer references thread,
  payload jsonb not null,
  body text,
  purged_at timestamptz,
  -- Dropped: people wrote during a pause that came before it left. A dropped or failed one may be tried again by another call.
  state text not null default 'intent' check (state in ('intent', 'sent', 'confirmed', 'uncertain', 'failed', 'dropped')),
  external_id text,
  url text,
  error text,
  tries integer not null default 0,
  created_at timestamptz not null default now(),
  -- Of the host's own words, which no tool call sends: when the sender takes them up (again).
  next_try_at timestamptz not null default now(),
  sent_at timestamptz,
  settled_at timestamptz
);
create index outbox_host on outbox (thread, id) where session is null and state in ('intent', 'sent', 'uncertain');
create index outbox_ticket on outbox (ticket, state);
call guard('outbox', '~payload', '~body', 'state', 'external_id', 'url', 'error', 'tries', 'next_try_at', 'sent_at', 'settled_at', 'session', 'step', 'call');
create trigger hint after insert on outbox for each statement execute function hint();

-- People's holds and commands ---------------------------------------------------------------------------------------------

create table pause (
  scope text primary key check (scope in ('main', 'all') or scope ~ '^ticket-[0-9]+$'),
  generation integer not null default 0,
  held boolean not null default false,
  actor text,
  reason text,
  at timestamptz not null default now()
);

create table command (
  id integer generated always as identity primary key,
  kind text not null check (kind in ('pause', 'resume', 'close', 'retry', 'record_on', 'record_off')),
  scope text not null,
  actor text not null,
  transport text not null check (transport in ('cli', 'panel', 'chat', 'temporal')),
  basis text,
  reason text not null,
  -- The mark that workflows compare: the pause's generation, or the opening that a close ends.
  generation integer not null,
  -- A raw update's id, so that its second attempt writes no second row.
  update_id text unique,
  created_at timestamptz not null default now(),
  delivered_at timestamptz,
  next_try_at timestamptz not null default now(),
  tries integer not null default 0,
  error text
);
create index command_undelivered on command (next_try_at) where delivered_at is null;
-- Whether recording is on: the newest of these, read with every request.
create index command_recording on command (id) where kind in ('record_on', 'record_off');
call guard('command', '=delivered_at', 'next_try_at', 'tries', 'error');
create trigger hint after insert on command for each statement execute function hint();

create table alarm (
  id integer generated always as identity primary key,
  kind text not null,
  subject text not null,
  body text not null,
  raised_at timestamptz not null default now(),
  ended_at timestamptz
);
create unique index alarm_open on alarm (kind, subject) where ended_at is null;

-- Birth -------------------------------------------------------------------------------------------------------------------

insert into pause (scope) values ('main'), ('all');
insert into watermark (source) values ('github');
insert into session (id, role, number) values ('main-1', 'main', 1);

insert into text (sha, body, bytes)
select sha256(convert_to(body, 'UTF8')), body, octet_length(body)
from (values ('{"overrides":{},"sections":{},"skills":[]}'), ('{"lastRule":0,"mode":"explicit","rules":[]}')) as born (body);
insert into prompt_revision (revision, origin, actor, note, document)
values (1, 'built-in', 'switchyard', 'the built-in texts', sha256(convert_to('{"overrides":{},"sections":{},"skills":[]}', 'UTF8')));
insert into policy_version (version, origin, actor, note, document)
values (1, 'built-in', 'switchyard', 'explicit requests only', sha256(convert_to('{"lastRule":0,"mode":"explicit","rules":[]}', 'UTF8')));
