-- What starts runs besides people: webhooks, e-mail addresses, schedules; and what came in by them.
-- An endpoint belongs to a node of a pattern and stays for as long as the pattern, so that its URL is stable.
create table webhook_endpoints (
    id text primary key,
    pattern_id text not null,
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
    created_at bigint not null,
    unique (pattern_id, node_id)
);
-- One row for every request to a webhook.
create table webhook_logs (
    id text primary key,
    -- As it stood in the URL; shortened if it was none of ours.
    webhook_id text not null,
    -- Null: there is no such webhook.
    pattern_id text,
    status text not null,
    status_code bigint not null,
    rejection_reason text,
    ip_address text not null,
    user_agent text,
    content_length bigint not null,
    request_id text not null,
    run_id text,
    created_at bigint not null
);
create index webhook_logs_newest on webhook_logs (pattern_id, created_at, id);
create index webhook_logs_age on webhook_logs (created_at);
-- The newest events of each endpoint, for people who build a pattern.
create table tap_events (
    id text primary key,
    endpoint_id text not null,
    received_at bigint not null,
    -- `{headers, body, method, query}`.
    event text not null
);
create index tap_events_newest on tap_events (endpoint_id, received_at, id);
create index tap_events_age on tap_events (received_at);
create table email_endpoints (
    id text primary key,
    pattern_id text not null,
    node_id text not null,
    -- The unguessable part of the address, before the @.
    mailbox text not null unique,
    alias text not null,
    is_present boolean not null,
    created_at bigint not null,
    unique (pattern_id, node_id)
);
-- Times at which deployments run, one row for each OnSchedule node.
create table schedules (
    id text primary key,
    deployment_id text not null,
    node_id text not null,
    -- As the deployed version has it.
    cron text not null,
    timezone text not null,
    catch_up text not null,
    -- As it was set for the deployment; null: as the version has it.
    set_cron text,
    set_timezone text,
    -- When it runs next; null: never again.
    next_due_at bigint,
    unique (deployment_id, node_id)
);
create index schedules_due on schedules (next_due_at);
