-- Bytes of all versions of a pattern, which count toward its owner's quota.
alter table patterns add column stored_bytes bigint not null default 0;
update patterns set stored_bytes = coalesce(
    (select sum(length(v.graph)) from pattern_versions v where v.pattern_id = patterns.id), 0
);
create index patterns_owner on patterns (owner_id, stored_bytes);
