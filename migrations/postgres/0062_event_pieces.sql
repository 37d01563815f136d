-- Only SQLite keeps large events in pieces: PostgreSQL has several writers, and keeps large values beside their rows by itself.
select 1;
