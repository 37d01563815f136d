-- What is kept so that runs can be replayed after their end.
--
-- The journals of runs that have ended. A row stays for as long as its run, so that it is known that the entries are gone.
create table run_journals (
    run_id text primary key,
    -- Whose journals are counted together: a workspace's, or those of a user outside of workspaces.
    tenant_id text not null,
    has_failed boolean not null,
    ended_at bigint not null,
    -- Of its entries.
    bytes bigint not null,
    -- Whether the entries are there.
    is_kept boolean not null
);
create index run_journals_kept on run_journals (tenant_id, ended_at) where is_kept;
-- What `$vars` of an environment were before each of its latest changes.
create table past_variables (
    environment_id text not null references environments (id) on delete cascade,
    since bigint not null,
    until bigint not null,
    variables text not null,
    primary key (environment_id, until)
);
-- The environments that deployments had before they got another one.
create table past_environments (
    deployment_id text not null references deployments (id) on delete cascade,
    until bigint not null,
    environment_id text,
    primary key (deployment_id, until)
);
-- Whoever removes a run removes all of it.
create function remove_journals() returns trigger language plpgsql as $$
begin
    delete from journal_entries where run_id in (select id from removed);
    delete from signals where run_id in (select id from removed);
    delete from run_journals where run_id in (select id from removed);
    return null;
end
$$;
create trigger runs_removed after delete on runs
referencing old table as removed for each statement execute function remove_journals();
