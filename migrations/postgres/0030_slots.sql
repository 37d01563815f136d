-- Several deployments of a pattern, each in an environment of its own. The main one has the addresses that the pattern had
-- before it was deployed; its slot is an empty text. That of another one is the id of its environment.
alter table deployments add column slot text not null default '';
alter table deployments drop constraint deployments_pattern_id_key;
create unique index deployments_slot on deployments (pattern_id, slot);
create unique index deployments_environment on deployments (pattern_id, environment_id);
-- The environment that the main deployment has, or had last.
alter table patterns add column main_environment_id text;
update patterns set main_environment_id = (
    select d.environment_id from deployments d where d.pattern_id = patterns.id
);
-- The slot whose deployment an endpoint belongs to.
alter table webhook_endpoints add column slot text not null default '';
alter table webhook_endpoints drop constraint webhook_endpoints_pattern_id_node_id_key;
create unique index webhook_endpoints_node on webhook_endpoints (pattern_id, slot, node_id);
alter table email_endpoints add column slot text not null default '';
alter table email_endpoints drop constraint email_endpoints_pattern_id_node_id_key;
create unique index email_endpoints_node on email_endpoints (pattern_id, slot, node_id);
