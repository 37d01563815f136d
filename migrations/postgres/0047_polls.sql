-- What is known of the lists that OnPoll nodes ask for.
create table polls (
    schedule_id text primary key references schedules (id) on delete cascade,
    -- Which list it was, as a hash of what was asked; empty: it has never answered.
    source text not null,
    -- What the next request says.
    cursor text,
    -- Hashes of its things for which runs were started, one after the other, the newest first.
    seen text not null,
    -- When it was asked last, how many things the last answer had that could be read, and how often it has failed since.
    polled_at bigint,
    things bigint not null,
    failures bigint not null,
    -- Of the last failure; null: the last time it did not fail.
    error_code text,
    error text,
    -- Goes up with every change.
    version bigint not null
);
