-- Sessions of browsers, which have a secret in a cookie.
create table sessions (
    id text primary key,
    user_id text not null references users (id) on delete cascade,
    -- SHA-256 of the secret, in hex.
    secret_hash text not null unique,
    -- The user's generation of tokens when it began: sessions end with the tokens.
    generation bigint not null,
    began_at bigint not null,
    -- To the minute.
    used_at bigint not null,
    ip_address text not null,
    user_agent text not null
);
create index sessions_user on sessions (user_id, used_at);
create index sessions_use on sessions (used_at);
create index sessions_beginning on sessions (began_at);
