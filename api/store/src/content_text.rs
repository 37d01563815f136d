//! How statements read patterns' graphs and definitions. One is in its row, or that has a mark of 49 characters in place of it, as
//! `large_texts` makes it in an embedded database: `p`, how many bytes it has, with twelve digits, and the id of its pieces in
//! `text_pieces`. Of a text that is in its row no more than the length is looked at.

/// SQL about a graph or definitions, in a column of a table that the statement calls as is said.
macro_rules! content_sql {
    (is_apart $column:literal) => {
        concat!("octet_length(", $column, ") = 49 and substr(", $column, ", 1, 1) = 'p'")
    };
    // How many bytes it has; null: there is none.
    (bytes $column:literal) => {
        concat!(
            "case when ",
            content_sql!(is_apart $column),
            " then cast(substr(",
            $column,
            ", 2, 12) as bigint) else octet_length(",
            $column,
            ") end"
        )
    };
    // All of it; null: there is none.
    (whole $column:literal, $db:expr) => {
        match $db.is_postgres() {
            true => $column,
            false => concat!(
                "case when ",
                content_sql!(is_apart $column),
                " then (select group_concat(pieces.text, '') from
                     (select x.text from text_pieces x where x.row_id = substr(",
                $column,
                ", 14) order by x.number) pieces) else ",
                $column,
                " end"
            ),
        }
    };
}

pub(crate) use content_sql;
