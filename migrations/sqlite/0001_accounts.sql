-- Users, workspaces and their environments. Ids are UUIDv7 text, times milliseconds since 1970 UTC.
create table users (
    id text primary key,
    email text not null,
    -- The email as it is compared.
    email_key text not null unique,
    first_name text not null,
    last_name text not null,
    role text not null,
    -- Argon2id in PHC form; null for users of an external login.
    password_hash text,
    avatar_url text,
    -- Issuer and subject at the external login.
    external_subject text unique,
    created_at bigint not null
);
create table workspaces (
    id text primary key,
    name text not null,
    created_at bigint not null,
    updated_at bigint not null
);
create table memberships (
    workspace_id text not null references workspaces (id) on delete cascade,
    user_id text not null references users (id) on delete cascade,
    role text not null,
    created_at bigint not null,
    primary key (workspace_id, user_id)
);
create index memberships_user on memberships (user_id);
create table environments (
    id text primary key,
    workspace_id text not null references workspaces (id) on delete cascade,
    name text not null,
    -- `$vars`, one JSON object.
    variables text not null default '{}',
    created_at bigint not null,
    unique (workspace_id, name)
);
create table api_keys (
    id text primary key,
    user_id text not null references users (id) on delete cascade,
    workspace_id text references workspaces (id) on delete cascade,
    name text not null,
    -- The beginning of the key, by which people tell it from others.
    prefix text not null,
    -- SHA-256 of the key.
    hash text not null unique,
    created_at bigint not null,
    last_used_at bigint
);
create index api_keys_user on api_keys (user_id);
