-- Links by which somebody joins a workspace.
create table invitation_links (
    id text primary key,
    -- SHA-256 of the secret in the link, in hex.
    token_hash text not null unique,
    workspace_id text not null references workspaces (id) on delete cascade,
    role text not null,
    -- The invitation of an address that the link belongs to, with which it ends; null: whoever has the link may use it.
    invitation_id text unique references invitations (id) on delete cascade,
    -- Whether it was sent to that address, so that who has it is known to read the mail there.
    is_mailed boolean not null,
    -- Whether it ends with its first use.
    is_single_use boolean not null,
    -- How many have joined by it.
    uses bigint not null default 0,
    invited_by text not null references users (id) on delete cascade,
    created_at bigint not null,
    expires_at bigint not null
);
create index invitation_links_workspace on invitation_links (workspace_id);
create index invitation_links_invited_by on invitation_links (invited_by);
-- What proves once who somebody is: links for a new password, and to verify an address.
create table account_tokens (
    -- SHA-256 of the token, in hex.
    token_hash text primary key,
    user_id text not null references users (id) on delete cascade,
    -- `reset` or `verify`.
    purpose text not null,
    -- The address that it was sent to, as it is compared; null: the operator has it.
    mailed_to text,
    created_at bigint not null,
    expires_at bigint not null
);
create index account_tokens_user on account_tokens (user_id, purpose);
create index account_tokens_expiry on account_tokens (expires_at);
-- Authenticators (TOTP, RFC 6238).
create table authenticators (
    user_id text primary key references users (id) on delete cascade,
    secret_key_id text not null,
    secret blob not null,
    created_at bigint not null,
    -- When a first code has shown that the user has it; null: it does not count yet.
    confirmed_at bigint,
    -- The time step of the last code that was accepted: no code counts twice.
    last_step bigint not null default 0
);
-- What stands in for an authenticator that was lost, each once.
create table recovery_codes (
    user_id text not null references users (id) on delete cascade,
    -- SHA-256 of the code, in hex.
    code_hash text not null,
    primary key (user_id, code_hash)
);
