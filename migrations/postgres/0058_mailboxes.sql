-- How the mailboxes of OnMailbox nodes fare, of which polls knows the rest: since when a server is connected, null if none is, and
-- when the last message came that has started a run.
alter table polls add column connected_since bigint;
alter table polls add column last_new_at bigint;
