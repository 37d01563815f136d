-- How much each user keeps in KeyValue, counted as rows come and go, whoever removes them.
create table key_value_usage (
    owner_id text primary key,
    entries bigint not null,
    -- Of keys and values.
    bytes bigint not null
);
-- Towards whose quotas a value counts: who owned its workspace when it was written. Null: written by an earlier version.
alter table key_values add column owner_id text;
create trigger key_values_added after insert on key_values when new.owner_id is not null begin
    insert into key_value_usage (owner_id, entries, bytes)
    values (new.owner_id, 1, octet_length(new.key) + octet_length(new.value))
    on conflict (owner_id) do update set entries = entries + 1, bytes = bytes + excluded.bytes;
end;
create trigger key_values_removed after delete on key_values when old.owner_id is not null begin
    update key_value_usage
    set entries = entries - 1, bytes = bytes - octet_length(old.key) - octet_length(old.value)
    where owner_id = old.owner_id;
end;
create trigger key_values_changed after update of value, owner_id on key_values begin
    update key_value_usage
    set entries = entries - 1, bytes = bytes - octet_length(old.key) - octet_length(old.value)
    where owner_id = old.owner_id;
    insert into key_value_usage (owner_id, entries, bytes)
    select new.owner_id, 1, octet_length(new.key) + octet_length(new.value) where new.owner_id is not null
    on conflict (owner_id) do update set entries = entries + 1, bytes = bytes + excluded.bytes;
end;
update key_values set owner_id = coalesce(
    user_id,
    (select w.created_by from workspaces w where w.id = key_values.workspace_id),
    (select coalesce(w.created_by, p.owner_id) from patterns p left join workspaces w on w.id = p.workspace_id
     where p.id = key_values.pattern_id)
);
