-- Large graphs and definitions are kept in pieces like large events, in the same table. Their columns have marks in place of them, which
-- end with the id of the pieces (`row_id`), see `content_text.rs`. Versions with the same graph have the same pieces.
alter table event_pieces rename to text_pieces;
-- Which texts have rows: of all others the pieces are left over. (`octet_length` in an index would keep SQLite before 3.43 from opening
-- the database.)
create index pattern_versions_apart on pattern_versions (substr(graph, 14)) where substr(graph, 1, 1) = 'p';
create index pattern_definitions_apart on pattern_definitions (substr(definitions, 14)) where substr(definitions, 1, 1) = 'p';
create index pattern_drafts_graph_apart on pattern_drafts (substr(graph, 14)) where substr(graph, 1, 1) = 'p';
create index pattern_drafts_definitions_apart on pattern_drafts (substr(definitions, 14)) where substr(definitions, 1, 1) = 'p';
-- Whoever removes a row removes all of it, and so does whoever puts another draft in its place. No graph begins like
-- a mark, or ends like an id.
create trigger version_pieces_removed after delete on pattern_versions when substr(old.graph, 1, 1) = 'p' begin
    delete from text_pieces where row_id = substr(old.graph, 14)
        and not exists (select 1 from pattern_versions v
            where substr(v.graph, 1, 1) = 'p' and substr(v.graph, 14) = substr(old.graph, 14));
end;
create trigger definition_pieces_removed after delete on pattern_definitions when substr(old.definitions, 1, 1) = 'p' begin
    delete from text_pieces where row_id = substr(old.definitions, 14);
end;
create trigger draft_pieces_removed after delete on pattern_drafts
when substr(old.graph, 1, 1) = 'p' or substr(old.definitions, 1, 1) = 'p' begin
    delete from text_pieces where row_id in (substr(old.graph, 14), substr(old.definitions, 14));
end;
create trigger former_draft_pieces_removed after update of graph, definitions on pattern_drafts
when substr(old.graph, 1, 1) = 'p' or substr(old.definitions, 1, 1) = 'p' begin
    delete from text_pieces where row_id in (substr(old.graph, 14), substr(old.definitions, 14))
        and row_id not in (substr(new.graph, 14), coalesce(substr(new.definitions, 14), ''));
end;
