//! How statements read the events of runs and of taps. One is in its row, or that has a mark of 25 characters in place of it, as
//! `large_texts` makes it in an embedded database: `p`, and how many bytes and how many characters it has, with twelve digits each.
//! Then its pieces are in `text_pieces`. Of an event that is in its row no more than the length is looked at.

/// SQL about the event of a run or of a tap, in a statement that calls its table as is said.
macro_rules! event_sql {
    (is_apart $rows:literal) => {
        concat!("octet_length(", $rows, ".event) = 25 and substr(", $rows, ".event, 1, 1) = 'p'")
    };
    // The number in the mark at this place, or this length of an event that is in its row.
    (counted $rows:literal, $place:literal, $length:literal) => {
        concat!(
            "case when ",
            event_sql!(is_apart $rows),
            " then cast(substr(",
            $rows,
            ".event, ",
            $place,
            ", 12) as bigint) else ",
            $length,
            "(",
            $rows,
            ".event) end"
        )
    };
    // How many bytes it has; null: there is none.
    (bytes $rows:literal) => {
        event_sql!(counted $rows, "2", "octet_length")
    };
    // How many characters it has; null: there is none.
    (chars $rows:literal) => {
        event_sql!(counted $rows, "14", "length")
    };
    // All of it; null: there is none.
    (whole $rows:literal, $db:expr) => {
        match $db.is_postgres() {
            true => concat!($rows, ".event"),
            false => concat!(
                "case when ",
                event_sql!(is_apart $rows),
                " then (select group_concat(pieces.text, '') from
                     (select x.text from text_pieces x where x.row_id = ",
                $rows,
                ".id order by x.number) pieces) else ",
                $rows,
                ".event end"
            ),
        }
    };
}

pub(crate) use event_sql;
