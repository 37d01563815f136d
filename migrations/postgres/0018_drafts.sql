-- What users have drawn and not saved yet, one for each pattern and user.
create table pattern_drafts (
    pattern_id text not null references patterns (id) on delete cascade,
    user_id text not null,
    -- The version that it began with.
    base_version bigint not null,
    -- Another one with each change.
    etag text not null,
    updated_at bigint not null,
    -- What counts toward the user's quota.
    stored_bytes bigint not null,
    -- nodeDefinitions as they came; null: there are none.
    definitions text,
    -- graphData as it came.
    graph text not null,
    primary key (pattern_id, user_id)
);
create index pattern_drafts_user on pattern_drafts (user_id, stored_bytes);
