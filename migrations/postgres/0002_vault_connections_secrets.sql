-- Envelope encryption, see api/src/vault.rs. The one row of `vault` names the master key that wraps every data key.
create table vault (
    id bigint primary key check (id = 1),
    master_key_id text not null
);
-- For servers that still hold the key before: the key after it, wrapped under it. Short-lived.
create table master_key_handovers (
    from_id text primary key,
    to_id text not null,
    wrapped bytea not null,
    created_at bigint not null
);
create table data_keys (
    id text primary key,
    -- The workspace whose rows this key encrypts, or an empty text for rows that belong to none.
    owner text not null unique,
    master_key_id text not null,
    wrapped bytea not null,
    created_at bigint not null
);
create table connections (
    id text primary key,
    user_id text not null references users (id) on delete cascade,
    workspace_id text references workspaces (id) on delete cascade,
    provider text not null,
    display_name text not null,
    type text not null,
    status text not null,
    data_key text not null,
    -- The credentials, one JSON object.
    ciphertext bytea not null,
    created_at bigint not null,
    updated_at bigint not null
);
create index connections_user on connections (user_id);
create index connections_workspace on connections (workspace_id);
create table secrets (
    environment_id text not null references environments (id) on delete cascade,
    name text not null,
    data_key text not null,
    ciphertext bytea not null,
    -- The connection that wrote this value; null once somebody has written another.
    connection_id text references connections (id) on delete set null,
    created_at bigint not null,
    updated_at bigint not null,
    primary key (environment_id, name)
);
create index secrets_connection on secrets (connection_id);
