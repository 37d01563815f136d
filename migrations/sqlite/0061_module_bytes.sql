-- How large the module of each deployment is, and what is under each seal: so what a user has of them is added up from an index, and
-- not by looking at each module. Whoever writes the rows, the database measures them.
alter table deployments add column module_bytes bigint not null default 0;
update deployments set module_bytes = coalesce(
    (select octet_length(a.wasm) from artifacts a where a.hash = deployments.artifact), 0
);
create index deployments_bytes on deployments (user_id, artifact, module_bytes);
create trigger deployments_measured after insert on deployments begin
    update deployments
    set module_bytes = coalesce((select octet_length(a.wasm) from artifacts a where a.hash = new.artifact), 0)
    where id = new.id;
end;
create trigger deployments_measured_again after update of artifact on deployments begin
    update deployments
    set module_bytes = coalesce((select octet_length(a.wasm) from artifacts a where a.hash = new.artifact), 0)
    where id = new.id;
end;
alter table module_seals add column bytes bigint not null default 0;
update module_seals set bytes = coalesce(
    (select octet_length(a.wasm) from artifacts a where a.hash = module_seals.hash), 0
);
create index module_seals_bytes on module_seals (tenant, hash, bytes);
create trigger module_seals_measured after insert on module_seals begin
    update module_seals
    set bytes = coalesce((select octet_length(a.wasm) from artifacts a where a.hash = new.hash), 0)
    where hash = new.hash and tenant = new.tenant;
end;
