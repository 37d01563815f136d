-- Only SQLite has runs that are metered later. Here they are in the statement that stores their ends, which costs no
-- further page, and several servers would have to know of each other's sums.
alter table runs add column is_metered_later boolean not null default false;
