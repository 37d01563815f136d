-- Runs that may have brought their server down.
-- During how many deaths of servers it may have been executing; below zero: it has been found to be what brought so many
-- of them down, and does not execute any more.
alter table runs add column suspicion bigint not null default 0;
-- The server that has said that it is about to execute it, for runs and deployments under suspicion.
alter table runs add column announced_by text;
create index runs_suspects on runs (suspicion, id) where suspicion <> 0;
-- How many servers its runs were found to have brought down since it was deployed.
alter table deployments add column strikes bigint not null default 0;
-- Whether it executes nothing but runs under suspicion now.
alter table servers add column trying boolean not null default false;
