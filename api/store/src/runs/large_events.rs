//! Large events of runs and of taps in an embedded database. It has one writer, for which everybody waits, and writes a row that
//! changes as a whole. So a large event is kept in pieces: they are stored one after another, each in a transaction of its own,
//! between which others write, and only then the row of the run or of the tapped event, which has a mark in place of it. What reads
//! an event finds the whole one, by `event_text`. A run and a tap have a copy each: what the tap has is masked. PostgreSQL has
//! several writers, and keeps large values beside their rows by itself.
//!
//! Outputs, logs and traces are cut to what one transaction can take.

use crate::{Db, Load, Sql, Store, StoreError, sql};
use heddle_model::clock::Timestamp;
use heddle_model::ids::{RunId, UserId};
use std::sync::Arc;

/// Events of more bytes are kept in pieces. They have more characters than lists show.
const EVENT_BYTES_MAX: usize = 256 << 10;
/// Bytes of a piece: what the writer writes of what is large before others' small writes have their turn.
const PIECE_BYTES_MAX: usize = 128 << 10;

/// What a row has in place of a large event, as `event_text` reads it: how many bytes and characters that has. No JSON begins like this.
pub(crate) fn mark(event: &str) -> String {
    format!("p{:012}{:012}", event.len(), event.chars().count())
}

/// How many bytes of an event are in the row of its run, roughly, where large ones are kept in pieces.
pub const fn bytes_in_row(event_bytes: usize) -> usize {
    match event_bytes > EVENT_BYTES_MAX {
        true => 0,
        false => event_bytes,
    }
}

/// Whether an event is kept in pieces.
pub const fn is_large(event: &str) -> bool {
    event.len() > EVENT_BYTES_MAX
}

/// Cuts a text at boundaries of characters.
fn pieces(text: &str, bytes_max: usize) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (piece, more) = rest.split_at_checked(rest.floor_char_boundary(bytes_max))?;
        rest = more;
        (!piece.is_empty()).then_some(piece)
    })
}

/// The pieces of a large event with their numbers.
pub fn numbered(event: &str) -> impl Iterator<Item = (i64, &str)> {
    (0..).zip(pieces(event, PIECE_BYTES_MAX))
}

/// Stores a piece of the event of a row. What is tried again may have been stored all the same.
pub fn insertion(row: &Arc<str>, number: i64, piece: &str) -> Sql {
    let insert =
        sql("insert into event_pieces (row_id, number, text) values (?, ?, ?) on conflict do nothing");
    insert.bind(row).bind(number).bind(piece)
}

/// Removes the pieces of a row's event, unless the row is stored. For an embedded database.
pub async fn remove_of_unstored(store: &Store, row: &Arc<str>) -> Result<(), StoreError> {
    store
        .execute_all(Load::of(None, PIECE_BYTES_MAX), vec![removal(row)])
        .await
}

fn removal(row: &Arc<str>) -> Sql {
    let delete = sql("delete from event_pieces where row_id = ?
         and not exists (select 1 from runs r where r.id = ?)
         and not exists (select 1 from tap_events t where t.id = ?)");
    delete.bind(row).bind(row).bind(row)
}

/// Stores a large event in pieces, and gives what its run's row, which is to be stored next, has in place of it. For an embedded
/// database. When it fails, or the row is not stored, [`remove_of_unstored`] removes what there is.
pub async fn set_apart(
    store: &Store,
    owner: Option<UserId>,
    run: RunId,
    event: &str,
) -> Result<String, StoreError> {
    let row = run.shared_text();
    for (number, piece) in numbered(event) {
        let mut statements = Vec::with_capacity(2);
        if number == 0 {
            // An attempt to store the same run may have been cut short.
            statements.push(removal(&row));
        }
        statements.push(insertion(&row, number, piece));
        let load = Load::of(owner, piece.len());
        store.execute_all(load, statements).await?;
    }
    Ok(mark(event))
}

/// Ids of rows that have pieces, but are not there, although they would be by now if they were made before a time: as many as the
/// limit says. For an embedded database. Those that have pieces are found one after another in the index.
pub async fn unstored(db: &mut Db<'_>, before: Timestamp, limit: i64) -> Result<Vec<(String,)>, StoreError> {
    let before = ids_from(before);
    let query = sql("with recursive known(id) as (
             select min(row_id) from event_pieces where row_id < ?
             union all
             select (select min(x.row_id) from event_pieces x where x.row_id > known.id and x.row_id < ?)
             from known where known.id is not null)
         select known.id from known where known.id is not null
         and not exists (select 1 from runs r where r.id = known.id)
         and not exists (select 1 from tap_events t where t.id = known.id) limit ?");
    db.all(query.bind(&before).bind(&before).bind(limit)).await
}

/// What ids begin with, or come after, that are made from a time on: they are UUIDv7.
fn ids_from(at: Timestamp) -> String {
    let ms = at.millis().max(0);
    format!("{:08x}-{:04x}", ms >> 16, ms & 0xffff)
}

#[cfg(test)]
mod tests {
    use super::{EVENT_BYTES_MAX, PIECE_BYTES_MAX, ids_from, mark, pieces};
    use crate::runs::listing::LISTED_CHARS_MAX;
    use heddle_model::clock::Timestamp;

    #[test]
    fn pieces_are_cut_between_characters_and_make_the_whole() {
        let text = "aä€𝄞".repeat(50);
        for length in (0..=text.len()).filter(|length| text.is_char_boundary(*length)) {
            let text = &text[..length];
            // No character has more than 4 bytes.
            for bytes_max in [4, 5, 7, 64, 1_000] {
                let cut: Vec<&str> = pieces(text, bytes_max).collect();
                assert_eq!(cut.concat(), text);
                let (last, others) = match cut.split_last() {
                    Some((last, others)) => (*last, others),
                    None => ("", &[][..]),
                };
                assert!(last.len() <= bytes_max && last.is_empty() == text.is_empty());
                let is_full = |piece: &&str| (bytes_max - 3..=bytes_max).contains(&piece.len());
                assert!(others.iter().all(is_full), "{length} {bytes_max}");
            }
        }
    }

    #[test]
    fn a_mark_tells_bytes_and_characters_and_is_no_json() {
        let mark = mark(&"ä".repeat(200_000));
        assert_eq!(mark, "p000000400000000000200000");
        assert_eq!(mark.len(), 25);
        assert!(serde_json::from_str::<serde_json::Value>(&mark).is_err());
    }

    #[test]
    fn what_is_in_pieces_is_too_large_for_lists_and_for_one_piece() {
        let listed = usize::try_from(LISTED_CHARS_MAX).unwrap();
        assert!(EVENT_BYTES_MAX >= 4 * listed && EVENT_BYTES_MAX > PIECE_BYTES_MAX);
    }

    #[test]
    fn ids_are_compared_with_times() {
        let at = ids_from(Timestamp::from_millis(0x0193_2c07_209e));
        assert_eq!(at, "01932c07-209e");
        assert!("01932c07-209d-7fff-bfff-ffffffffffff" < at.as_str());
        assert!(at.as_str() < "01932c07-209e-7000-8000-000000000000");
    }
}
