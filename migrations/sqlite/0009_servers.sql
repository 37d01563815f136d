-- Servers that share the database, each for as long as it renews its lease. Times are the database's.
create table servers (
    -- The owner of the runs that it has.
    id text primary key,
    started_at bigint not null,
    expires_at bigint not null
);
