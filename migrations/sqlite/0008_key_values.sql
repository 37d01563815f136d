-- Values that patterns keep from run to run, see runtime/src/key_values.rs.
create table key_values (
    -- Whose: `pattern/<id>`, `workspace/<id>` or `user/<id>`.
    scope text not null,
    key text not null,
    -- JSON.
    value text not null,
    -- From then on it is not there any more; null: never.
    expires_at bigint,
    pattern_id text references patterns (id) on delete cascade,
    workspace_id text references workspaces (id) on delete cascade,
    user_id text references users (id) on delete cascade,
    primary key (scope, key)
);
create index key_values_expires_at on key_values (expires_at) where expires_at is not null;
create index key_values_pattern on key_values (pattern_id);
create index key_values_workspace on key_values (workspace_id);
create index key_values_user on key_values (user_id);
