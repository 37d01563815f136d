-- What is deployed, and what ran. Modules are kept by content: a run keeps the one that it began with.
create table artifacts (
    -- SHA-256 of the module, in hex.
    hash text primary key,
    wasm blob not null,
    created_at bigint not null
);
-- At most one of a pattern. A deleted one has no row.
create table deployments (
    id text primary key,
    pattern_id text not null unique,
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
    updated_at bigint not null
);
create index deployments_workspace on deployments (workspace_id, created_at);
create index deployments_user on deployments (user_id, created_at);
create index deployments_artifact on deployments (artifact);
-- JSON columns are null when there is nothing, and large values are cut with a mark when the run ends; the event
-- is kept whole, since a run may be taken up again.
create table runs (
    id text primary key,
    deployment_id text not null,
    status text not null,
    phase text not null,
    triggered_by text not null,
    -- Trigger at which it starts; null: OnManual, or else the first.
    node_id text,
    event text,
    artifact text not null,
    version_number bigint not null,
    attempt bigint not null,
    -- The start of the server that has it; only that one writes its end.
    owner text not null,
    -- How often it was taken up after its server had stopped.
    takeovers bigint not null,
    accepted_at bigint not null,
    -- When the next attempt is due.
    resumes_at bigint,
    started_at bigint,
    completed_at bigint,
    duration_ms bigint,
    output text,
    error text,
    logs text,
    trace text,
    fuel_used bigint,
    memory_bytes_peak bigint
);
create index runs_deployment on runs (deployment_id, accepted_at);
create index runs_running on runs (id) where status = 'running';
-- Which run an event made that may come again.
create table idempotency_keys (
    -- What the key is unique within: a webhook endpoint, or the run that failed.
    scope text not null,
    key text not null,
    run_id text not null,
    expires_at bigint not null,
    primary key (scope, key)
);
create index idempotency_keys_expiry on idempotency_keys (expires_at);
