-- Hosts that a secret may be sent to, a JSON array; empty: any.
alter table secrets add column hosts text not null default '[]';
