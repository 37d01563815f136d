-- Connections by consent (OAuth 2.0): the tokens that a provider has given for them, and consents that are under way.
create table connection_tokens (
    connection_id text primary key references connections (id) on delete cascade,
    -- Access and refresh token, one JSON object.
    data_key text not null,
    ciphertext blob not null,
    -- What the provider has granted, a JSON array.
    scopes text not null,
    -- When the access token is over; null: the provider does not say.
    expires_at bigint,
    -- From when on others are asked for; null: never.
    renew_at bigint,
    -- Why there will be no other tokens without another consent; null: there may be.
    refused text,
    -- Who is asking for other tokens, until when; null: nobody.
    claim text,
    claimed_until bigint,
    -- Goes up with every change of the tokens.
    version bigint not null
);
create table connection_consents (
    -- SHA-256 of the state that the provider sends back.
    state_hash text primary key,
    user_id text not null references users (id) on delete cascade,
    connection_id text not null references connections (id) on delete cascade,
    -- The proof key (PKCE).
    data_key text not null,
    ciphertext blob not null,
    expires_at bigint not null
);
create index connection_consents_connection on connection_consents (connection_id);
create index connection_consents_time on connection_consents (expires_at);
