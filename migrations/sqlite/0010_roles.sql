-- What a server does: 'all', 'api' accepts and answers, 'worker' executes.
alter table servers add column role text not null default 'all';
-- Whether somebody waited for the run's end when it was accepted; runs of servers that do not say so may be waited for.
alter table runs add column awaited boolean not null default true;
create index runs_unclaimed on runs (awaited desc, id)
    where owner = '' and status = 'running' and wake_at is null and takeovers = 0;
-- What RespondToWebhook gave in a run that executed elsewhere than at the server whose sender waits for it.
create table responses (
    run_id text primary key,
    -- JSON: {status, headers, body, bodyType}.
    response text not null,
    created_at bigint not null
);
