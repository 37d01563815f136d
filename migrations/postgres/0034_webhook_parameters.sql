-- The parameters of an OnWebhook node in the newest version, as JSON, if they say more than the scheme; a deployment has
-- its own. Events are captured by them while nothing is deployed.
alter table webhook_endpoints add column parameters text not null default '';
