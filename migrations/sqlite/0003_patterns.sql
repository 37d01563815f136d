-- Patterns, their versions and who starred them. Whose a pattern is: `owner_id` and, unless null, `workspace_id`.
create table patterns (
    id text primary key,
    owner_id text not null,
    workspace_id text,
    name text not null,
    -- The name without regard to case, by which patterns are searched and sorted.
    name_key text not null,
    description text not null,
    is_public boolean not null,
    is_template boolean not null,
    -- A JSON array of texts, in the order that the user gave; see also pattern_tags.
    tags text not null,
    -- The newest version; numbers go from 1 without a gap.
    version_number bigint not null,
    created_at bigint not null,
    updated_at bigint not null,
    -- `{inputs, outputs}` as JSON; null: none was set.
    call_interface text
);
-- The default order of lists; `name_key` stands in it so that a search reads nothing else.
create index patterns_newest on patterns (workspace_id, owner_id, created_at, id, name_key);
create index patterns_saved on patterns (workspace_id, owner_id, updated_at, id);
create index patterns_named on patterns (workspace_id, owner_id, name_key, id);
create table pattern_tags (
    pattern_id text not null references patterns (id) on delete cascade,
    tag text not null,
    primary key (pattern_id, tag)
);
create index pattern_tags_tag on pattern_tags (tag, pattern_id);
create table pattern_versions (
    pattern_id text not null references patterns (id) on delete cascade,
    version_number bigint not null,
    created_at bigint not null,
    created_by text not null,
    summary text not null,
    -- graphData as it came, the last column because it is large.
    graph text not null,
    primary key (pattern_id, version_number)
);
create table pattern_stars (
    pattern_id text not null references patterns (id) on delete cascade,
    user_id text not null,
    created_at bigint not null,
    primary key (pattern_id, user_id)
);
