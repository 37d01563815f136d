-- Moving a workspace to another database, and what test runs use.
--
-- Workspaces that are being imported, and for a day those that have been.
create table imports (
    workspace_id text primary key references workspaces (id) on delete cascade,
    -- The archive's own id.
    archive_id text not null,
    -- The id that the workspace had where it was exported.
    former_id text not null,
    -- Whether ids stay as they were: the workspace's was free.
    keeps_ids boolean not null,
    -- Who gets what belonged to people who have no account here.
    owner_id text not null,
    -- The archive's key, encrypted.
    key_id text not null,
    key bytea not null,
    -- The number of the part that comes next.
    next_part bigint not null,
    -- What is not as it was, as JSON.
    report text not null,
    began_at bigint not null,
    -- An import that nobody has gone on with for long is given up.
    touched_at bigint not null,
    -- Null: it is under way.
    finished_at bigint
);
-- What an import has found so far: accounts of people, and modules.
create table imported_names (
    workspace_id text not null references workspaces (id) on delete cascade,
    -- `user` or `module`.
    kind text not null,
    -- The id of a user there, or the SHA-256 of a module.
    name text not null,
    -- The id of the user here; null: there is none with that address.
    user_id text,
    -- The user's address and role there, and when they joined; null: they were no member.
    email text,
    role text,
    joined_at bigint,
    -- Whether the module names patterns or connections by ids that are others now.
    is_stale boolean not null,
    primary key (workspace_id, kind, name)
);
-- Keys of the callback URLs that runs made at another service before they were moved here.
create table moved_callbacks (
    run_id text primary key,
    -- The workspace under whose key it is encrypted.
    workspace_id text not null,
    key_id text not null,
    key bytea not null
);
create function remove_moved_callbacks() returns trigger language plpgsql as $$
begin
    delete from moved_callbacks where run_id in (select id from removed);
    return null;
end
$$;
create trigger moved_runs_removed after delete on runs
referencing old table as removed for each statement execute function remove_moved_callbacks();
-- What tenants have used for test runs and replays, as `usage_hours` has it for runs.
create table test_usage_hours (
    tenant_id text not null,
    hour bigint not null,
    runs bigint not null,
    fuel bigint not null,
    memory_kib_ms bigint not null,
    effects bigint not null,
    egress_bytes bigint not null,
    primary key (tenant_id, hour)
);
create index test_usage_hours_time on test_usage_hours (hour);
