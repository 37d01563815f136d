-- Only SQLite keeps large graphs and definitions in pieces: PostgreSQL has several writers, and keeps large values beside their rows by
-- itself.
select 1;
