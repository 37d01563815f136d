-- Lists of a whole workspace: its members' patterns, and its runs.
create index patterns_of_all_newest on patterns (workspace_id, created_at, id);
create index patterns_of_all_saved on patterns (workspace_id, updated_at, id);
create index patterns_of_all_named on patterns (workspace_id, name_key, id);
-- Only of failures, since runs that succeed are most of what is written.
create index runs_failed on runs (deployment_id, accepted_at) where status in ('failure', 'dead_letter');
