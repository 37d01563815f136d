-- Metering of runs that are stored together with their end: they are added up in memory, and from there to usage_hours.
--
-- Whether a run is metered in this way. Whether that has been done already, its place in the table tells.
alter table runs add column is_metered_later boolean not null default false;
create table metering (
    -- The row up to which all runs are in usage_hours.
    until_row bigint not null
);
insert into metering (until_row) select coalesce(max(rowid), 0) from runs;
-- SQLite gives the numbers of the last rows again once they are deleted.
create trigger runs_metering after delete on runs when old.rowid >= (select until_row from metering)
begin
    update metering set until_row = coalesce((select max(rowid) from runs), 0)
    where until_row > coalesce((select max(rowid) from runs), 0);
end;
