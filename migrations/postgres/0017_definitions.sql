-- Definitions of node types that patterns bring along, by the SHA-256 of their text: versions that have the same share them.
create table pattern_definitions (
    pattern_id text not null references patterns (id) on delete cascade,
    hash text not null,
    -- nodeDefinitions as they came.
    definitions text not null,
    primary key (pattern_id, hash)
);
-- The version's definitions; null: it has none.
alter table pattern_versions add column definitions_hash text;
