-- Several deployments of a pattern, each in an environment of its own. The main one has the addresses that the pattern had
-- before it was deployed; its slot is an empty text. That of another one is the id of its environment.
--
-- SQLite can't drop a constraint: tables are made anew. Dropping one removes what refers to its rows, which is kept meanwhile.
create table past_environments_meanwhile as select deployment_id, until, environment_id from past_environments;
create table new_deployments (
    id text primary key,
    pattern_id text not null,
    slot text not null default '',
    -- As it was when it was deployed.
    pattern_name text not null,
    user_id text not null,
    workspace_id text,
    environment_id text,
    status text not null,
    version_number bigint not null,
    artifact text not null,
    -- JSON: [{type, nodeId}].
    triggers text not null,
    -- Why it failed.
    error_message text,
    confirmed_at bigint not null,
    created_at bigint not null,
    updated_at bigint not null,
    -- How many servers its runs were found to have brought down since it was deployed.
    strikes bigint not null default 0
);
insert into new_deployments (id, pattern_id, pattern_name, user_id, workspace_id, environment_id, status, version_number,
    artifact, triggers, error_message, confirmed_at, created_at, updated_at, strikes)
select id, pattern_id, pattern_name, user_id, workspace_id, environment_id, status, version_number,
    artifact, triggers, error_message, confirmed_at, created_at, updated_at, strikes from deployments;
drop table deployments;
alter table new_deployments rename to deployments;
insert into past_environments (deployment_id, until, environment_id)
select deployment_id, until, environment_id from past_environments_meanwhile where true on conflict do nothing;
drop table past_environments_meanwhile;
create index deployments_workspace on deployments (workspace_id, created_at);
create index deployments_user on deployments (user_id, created_at);
create index deployments_artifact on deployments (artifact);
create unique index deployments_slot on deployments (pattern_id, slot);
create unique index deployments_environment on deployments (pattern_id, environment_id);
-- The environment that the main deployment has, or had last.
alter table patterns add column main_environment_id text;
update patterns set main_environment_id = (
    select d.environment_id from deployments d where d.pattern_id = patterns.id
);
create table new_webhook_endpoints (
    id text primary key,
    pattern_id text not null,
    -- The slot whose deployment it belongs to.
    slot text not null default '',
    -- The pattern's, under whose data key the secret is encrypted.
    workspace_id text,
    node_id text not null,
    -- The unguessable part of the URL.
    webhook_id text not null unique,
    alias text not null,
    -- How senders sign, in the newest version; a deployment has its own.
    scheme text not null,
    secret_key_id text not null,
    secret blob not null,
    -- Whether the newest version has the node.
    is_present boolean not null,
    created_at bigint not null
);
insert into new_webhook_endpoints (id, pattern_id, workspace_id, node_id, webhook_id, alias, scheme, secret_key_id, secret,
    is_present, created_at)
select id, pattern_id, workspace_id, node_id, webhook_id, alias, scheme, secret_key_id, secret, is_present, created_at
from webhook_endpoints;
drop table webhook_endpoints;
alter table new_webhook_endpoints rename to webhook_endpoints;
create unique index webhook_endpoints_node on webhook_endpoints (pattern_id, slot, node_id);
create table new_email_endpoints (
    id text primary key,
    pattern_id text not null,
    -- The slot whose deployment it belongs to.
    slot text not null default '',
    node_id text not null,
    -- The unguessable part of the address, before the @.
    mailbox text not null unique,
    alias text not null,
    is_present boolean not null,
    created_at bigint not null
);
insert into new_email_endpoints (id, pattern_id, node_id, mailbox, alias, is_present, created_at)
select id, pattern_id, node_id, mailbox, alias, is_present, created_at from email_endpoints;
drop table email_endpoints;
alter table new_email_endpoints rename to email_endpoints;
create unique index email_endpoints_node on email_endpoints (pattern_id, slot, node_id);
