-- What each tenant has deployed: a seal of the vault over a module's hash, its rights and the tenant, so that a row that was
-- written by other ways executes nothing.
create table module_seals (
    hash text not null references artifacts (hash) on delete cascade,
    -- A workspace, or a user outside of workspaces.
    tenant text not null,
    key_id text not null,
    seal bytea not null,
    primary key (hash, tenant)
);
create index module_seals_tenant on module_seals (tenant);
-- When sealing began, sealed as well, in a database that had deployments before.
create table module_seals_begun (
    id bigint primary key check (id = 1),
    key_id text not null,
    seal bytea not null
);
