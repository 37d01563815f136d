-- What is deleted with an environment, a workspace or an account is found without reading everybody's rows. Most endpoints are in the
-- main slot of their pattern, which no environment's deletion asks for.
create index webhook_endpoints_slot on webhook_endpoints (slot) where slot <> '';
create index email_endpoints_slot on email_endpoints (slot) where slot <> '';
create index run_journals_gone on run_journals (tenant_id) where not is_kept;
create index api_keys_workspace on api_keys (workspace_id) where workspace_id is not null;
create index connection_consents_user on connection_consents (user_id);
create index pattern_stars_user on pattern_stars (user_id);
