-- How many runs of a deployment wait. Only of these, so that others cost nothing.
create index runs_waiting on runs (deployment_id) where wake_at is not null;
