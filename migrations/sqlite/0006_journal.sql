-- What runs know of their effects, so that they can go on after a stop of the server, a failed attempt, or a wait for
-- which they are not kept in memory.
create table journal_entries (
    run_id text not null,
    -- Which effect of the run; empty: when the run began, as {startedAtMs}.
    key text not null,
    -- Place among those that have ended; null: the effect has parked, and this is its state.
    number bigint,
    -- JSON.
    entry text not null,
    primary key (run_id, key)
);
-- What has come for effects that wait: requests to callback URLs, ends of called runs.
create table signals (
    run_id text not null,
    key text not null,
    -- JSON.
    payload text not null,
    primary key (run_id, key)
);
-- When a parked run goes on; null: it is not parked.
alter table runs add column wake_at bigint;
-- Something has come for it that it may not have seen.
alter table runs add column woken boolean not null default false;
-- The run whose CallPattern waits for this one, and the effect that does.
alter table runs add column parent_id text;
alter table runs add column parent_key text;
-- How many runs called each other above this one.
alter table runs add column depth bigint not null default 0;
create index runs_parked on runs (wake_at) where wake_at is not null;
create index runs_children on runs (parent_id) where parent_id is not null;
drop index runs_running;
create index runs_running on runs (id) where status = 'running' and wake_at is null;
