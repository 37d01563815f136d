-- Whether somebody who can know has vouched that the address is its user's: the external login, or an operator.
alter table users add column email_verified boolean not null default false;
-- Tokens of earlier generations have ended.
alter table users add column generation bigint not null default 0;
-- Nothing of a disabled user's is let in.
alter table users add column is_disabled boolean not null default false;
-- Logins that were ended before their time.
create table ended_sessions (
    id text primary key,
    expires_at bigint not null
);
create index ended_sessions_expiry on ended_sessions (expires_at);
-- From where a user has logged in: strangers' attempts don't keep them out there.
create table known_addresses (
    user_id text not null references users (id) on delete cascade,
    -- An IPv4 address, or the /64 of an IPv6 one.
    address text not null,
    seen_at bigint not null,
    primary key (user_id, address)
);
-- Who made it: what is in it counts toward that user's quotas.
alter table workspaces add column created_by text;
update workspaces set created_by = (
    select m.user_id from memberships m where m.workspace_id = workspaces.id and m.role = 'owner'
    order by m.created_at, m.user_id limit 1
);
create index workspaces_created_by on workspaces (created_by);
-- Who may join a workspace, once they agree.
create table invitations (
    id text primary key,
    workspace_id text not null references workspaces (id) on delete cascade,
    email text not null,
    -- The email as it is compared. There need not be a user with it.
    email_key text not null,
    role text not null,
    invited_by text not null references users (id) on delete cascade,
    created_at bigint not null,
    expires_at bigint not null,
    unique (workspace_id, email_key)
);
create index invitations_email on invitations (email_key);
create index invitations_invited_by on invitations (invited_by);
-- Versions up to this one were saved while the pattern was private: only its workspace sees them.
alter table patterns add column private_until bigint not null default 0;
-- What is private now, and what was made public before this was kept: the versions so far.
update patterns set private_until = case when is_public then version_number - 1 else version_number end;
