-- Who did what, when and from where. Nothing changes an entry: they are added, and leave by age or number, or with their
-- workspace or account.
create table audit_entries (
    id text not null primary key,
    -- Whose log it is in: a workspace's, or an account's.
    workspace_id text references workspaces (id) on delete cascade,
    account_id text references users (id) on delete cascade,
    at bigint not null,
    action text not null,
    outcome text not null,
    -- Who did it, as they were called then; null: nobody who was authenticated.
    actor_id text,
    actor_email text,
    actor_name text,
    -- The API key by which they did it.
    api_key_id text,
    api_key_name text,
    -- The client's address.
    address text,
    object_kind text not null,
    object_id text not null,
    object_name text,
    -- The name of what it is in: of a secret's environment, of a test's pattern.
    object_within text,
    -- More of it, as JSON.
    details text not null,
    check ((workspace_id is null) <> (account_id is null))
);
create index audit_entries_of_workspace on audit_entries (workspace_id, at, id) where workspace_id is not null;
create index audit_entries_of_account on audit_entries (account_id, at, id) where account_id is not null;
create index audit_entries_by_time on audit_entries (at, id);
create function refuse_audit_change() returns trigger language plpgsql as $$
begin
    raise exception 'an entry of the audit log can not be changed';
end
$$;
create trigger audit_entries_stay before update on audit_entries
for each row execute function refuse_audit_change();
