-- A run for several new things of a list that is about to be stored, or is by now: its key, and hashes of the things. Null: there is none.
alter table polls add column pending text;
