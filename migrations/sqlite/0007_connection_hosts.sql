-- Hosts that a connection may be sent to, a JSON array; empty: any.
alter table connections add column hosts text not null default '[]';
