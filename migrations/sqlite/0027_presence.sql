-- Editors that are open: what members see of each other. Rows that are not refreshed are over, and removed by those after them.
create table pattern_presence (
    pattern_id text not null references patterns (id) on delete cascade,
    user_id text not null,
    -- Tabs name themselves.
    tab text not null,
    -- Whether there is something in it that is not saved.
    has_changes boolean not null,
    since bigint not null,
    seen_at bigint not null,
    primary key (pattern_id, user_id, tab)
);
