-- What the node had been given that a run failed at: `{path, input, truncated}` as JSON.
alter table runs add column failed_input text;
-- When the last execution began of a run that went on after a wait, which read the variables; otherwise it is null.
alter table runs add column continued_at bigint;
