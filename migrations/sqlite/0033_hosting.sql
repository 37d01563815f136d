-- What workspaces use and may use, and whether they are suspended.
create table usage_hours (
    -- A workspace, or a user outside of workspaces.
    tenant_id text not null,
    -- When the hour began.
    hour bigint not null,
    -- Who counted: a part of a server, so that none waits for a row that another one has locked. Empty: any.
    counter text not null,
    -- Runs that have ended, and those of them that have failed.
    runs bigint not null,
    failed_runs bigint not null,
    -- Of all executions: fuel, peak memory in KiB times milliseconds, effects that were begun, and bytes that were sent.
    fuel bigint not null,
    memory_kib_ms bigint not null,
    effects bigint not null,
    egress_bytes bigint not null,
    primary key (tenant_id, hour, counter)
);
create index usage_hours_time on usage_hours (hour);
-- How much a tenant stored when it was last measured within an hour.
create table storage_hours (
    tenant_id text not null,
    hour bigint not null,
    bytes bigint not null,
    primary key (tenant_id, hour)
);
-- The same figures of one run, over all of its executions; null: it was executed once, without effects.
alter table runs add column total_fuel bigint;
alter table runs add column total_memory_kib_ms bigint;
alter table runs add column total_effects bigint;
alter table runs add column total_egress_bytes bigint;
-- Since when the operator has suspended it, and why; null: it is not suspended.
alter table workspaces add column suspended_at bigint;
alter table workspaces add column suspended_reason text;
-- Quotas of its own, by name, and how long its runs are kept, as JSON; null: as the settings say.
alter table workspaces add column hosting text;
-- Whether it is paused only because its workspace is suspended.
alter table deployments add column suspended boolean not null default false;
-- When it would be due, were its workspace not suspended.
alter table schedules add column held_due_at bigint;
-- Quotas of which much was used, so that each is warned of once in a month.
create table quota_warnings (
    workspace_id text not null references workspaces (id) on delete cascade,
    quota text not null,
    -- When the month began.
    month bigint not null,
    warned_at bigint not null,
    primary key (workspace_id, quota, month)
);
