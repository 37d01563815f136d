-- How much each user keeps in KeyValue, counted as rows come and go, whoever removes them.
create table key_value_usage (
    owner_id text primary key,
    entries bigint not null,
    -- Of keys and values.
    bytes bigint not null
);
-- Towards whose quotas a value counts: who owned its workspace when it was written. Null: written by an earlier version.
alter table key_values add column owner_id text;
update key_values set owner_id = coalesce(
    user_id,
    (select w.created_by from workspaces w where w.id = key_values.workspace_id),
    (select coalesce(w.created_by, p.owner_id) from patterns p left join workspaces w on w.id = p.workspace_id
     where p.id = key_values.pattern_id)
);
insert into key_value_usage (owner_id, entries, bytes)
select owner_id, count(*), sum(octet_length(key) + octet_length(value))
from key_values where owner_id is not null group by owner_id;
create function count_kept_key_value() returns trigger language plpgsql as $$
begin
    if tg_op = 'UPDATE' and old.owner_id is not distinct from new.owner_id then
        if octet_length(new.value) <> octet_length(old.value) then
            update key_value_usage set bytes = bytes + octet_length(new.value) - octet_length(old.value)
            where owner_id = new.owner_id;
        end if;
        return null;
    end if;
    if tg_op = 'UPDATE' and old.owner_id is not null then
        update key_value_usage
        set entries = entries - 1, bytes = bytes - octet_length(old.key) - octet_length(old.value)
        where owner_id = old.owner_id;
    end if;
    if new.owner_id is not null then
        insert into key_value_usage (owner_id, entries, bytes)
        values (new.owner_id, 1, octet_length(new.key) + octet_length(new.value))
        on conflict (owner_id) do update
        set entries = key_value_usage.entries + 1, bytes = key_value_usage.bytes + excluded.bytes;
    end if;
    return null;
end
$$;
create trigger key_values_kept after insert or update of value, owner_id on key_values
for each row execute function count_kept_key_value();
-- Once for each statement: a transaction keeps every version of the row it counts in, which thousands of removals would make.
create function count_removed_key_values() returns trigger language plpgsql as $$
begin
    update key_value_usage u set entries = u.entries - gone.entries, bytes = u.bytes - gone.bytes
    from (
        select owner_id, count(*) as entries, sum(octet_length(key) + octet_length(value)) as bytes
        from removed where owner_id is not null group by owner_id
    ) gone
    where u.owner_id = gone.owner_id;
    return null;
end
$$;
create trigger key_values_removed after delete on key_values
referencing old table as removed for each statement execute function count_removed_key_values();
