-- Large events of runs and taps, in pieces, each of which is written by itself: SQLite has one writer, for which everybody waits, and
-- writes a row that changes as a whole. The column `event` has a mark in place of such an event, see `runs/event_text.rs`. The pieces
-- are written before their row.
create table event_pieces (
    -- The run's id, or that of the tapped event.
    row_id text not null,
    -- From 0.
    number bigint not null,
    text text not null,
    primary key (row_id, number)
);
-- Whoever removes a run or a tapped event removes all of it.
create trigger event_pieces_removed after delete on runs begin
    delete from event_pieces where row_id = old.id;
end;
create trigger tapped_pieces_removed after delete on tap_events begin
    delete from event_pieces where row_id = old.id;
end;
