-- What an API key may do at most: read, run, edit or admin; null: all that its user may.
alter table api_keys add column scope text;
-- When it ends; null: when it is deleted.
alter table api_keys add column expires_at bigint;
