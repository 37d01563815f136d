-- What an environment asks of a version before it is deployed there, as JSON; null: nothing.
alter table environments add column rules text;
