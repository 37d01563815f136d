-- Tests of patterns.
create table pattern_tests (
    id text not null primary key,
    pattern_id text not null references patterns (id) on delete cascade,
    name text not null,
    created_at bigint not null,
    updated_at bigint not null,
    -- What counts toward the quota of the pattern's owner.
    stored_bytes bigint not null,
    -- How it ended when it last ran on a stored version, when that was, and which version; null: it has not run.
    last_status text,
    last_at bigint,
    last_version bigint,
    -- Event, pins, what is expected and the rest, as JSON.
    content text not null
);
create index pattern_tests_pattern on pattern_tests (pattern_id, id);
