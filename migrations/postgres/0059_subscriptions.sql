-- What services are told of webhooks: one row for each endpoint whose trigger says how. It outlives the deployment until the
-- service has forgotten the address.
create table subscriptions (
    endpoint_id text primary key,
    deployment_id text not null,
    node_id text not null,
    workspace_id text references workspaces (id) on delete cascade,
    -- Whose it is outside of workspaces.
    user_id text references users (id) on delete cascade,
    service text not null,
    -- Whether the service is to send, or to forget the address.
    is_wanted boolean not null,
    -- The requests, encrypted, since they are sent with the credentials of a connection.
    plan_key_id text not null,
    plan bytea not null,
    -- A hash of them.
    fingerprint text not null,
    -- The same of those by which the service was told what it may know, and the address that it was told; null: it knows nothing.
    made text,
    made_key_id text,
    made_plan bytea,
    address text,
    -- What the service calls it, and since when and until when it is there; null: nobody knows whether it is.
    remote_id text,
    subscribed_at bigint,
    expires_at bigint,
    -- When the service was asked last, and how often it has failed since it succeeded.
    checked_at bigint,
    failures bigint not null,
    -- Of the last failure; null: the last time it did not fail.
    error_code text,
    error text,
    -- When the service is to be asked next.
    due_at bigint,
    -- Goes up with every change of what is wanted.
    version bigint not null
);
create index subscriptions_due on subscriptions (due_at);
create index subscriptions_deployment on subscriptions (deployment_id);
create index subscriptions_workspace on subscriptions (workspace_id);
create index subscriptions_user on subscriptions (user_id);
