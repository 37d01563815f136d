//! Large texts in an embedded database: events of runs and of taps, and patterns' graphs and definitions. It has one writer, for which
//! everybody waits, and writes a row that changes as a whole. So a large text is kept in pieces: they are stored one after another,
//! each in a transaction of its own, between which others write, and only then the row that the text belongs to, which has a mark in
//! place of it. What reads a text finds the whole one, by `event_text` and `content_text`. PostgreSQL has several writers, and keeps
//! large values beside their rows by itself.
//!
//! The pieces of an event have the id of its row. A run and a tap have a copy each: what the tap has is masked. The pieces of a graph or
//! of definitions have an id of their own, which is in the mark, so that a version whose graph is an earlier one's has the same pieces.
//! Triggers remove pieces with the last row that has them.
//!
//! Outputs, logs and traces are cut to what one transaction can take.

use crate::{Db, Load, Sql, Store, StoreError, sql};
use heddle_model::clock::Timestamp;
use heddle_model::entropy;
use heddle_model::error::chain;
use heddle_model::ids::{RunId, UserId};
use std::sync::Arc;

/// Texts of more bytes are kept in pieces. Events then have more characters than lists show.
const WHOLE_BYTES_MAX: usize = 256 << 10;
/// Bytes of a piece: what the writer writes of what is large before others' small writes have their turn.
const PIECE_BYTES_MAX: usize = 128 << 10;

/// What a row has in place of a large event, as `event_text` reads it: how many bytes and characters that has. No JSON begins like this.
pub(crate) fn mark(event: &str) -> String {
    format!("p{:012}{:012}", event.len(), event.chars().count())
}

/// How many bytes of an event are in the row of its run, roughly, where large ones are kept in pieces.
pub const fn bytes_in_row(event_bytes: usize) -> usize {
    match event_bytes > WHOLE_BYTES_MAX {
        true => 0,
        false => event_bytes,
    }
}

/// Whether a text is kept in pieces.
pub const fn is_large(text: &str) -> bool {
    text.len() > WHOLE_BYTES_MAX
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

/// The pieces of a large text with their numbers.
pub fn numbered(text: &str) -> impl Iterator<Item = (i64, &str)> {
    (0..).zip(pieces(text, PIECE_BYTES_MAX))
}

/// Stores a piece of the text with this id. What is tried again may have been stored all the same.
pub fn insertion(id: &Arc<str>, number: i64, piece: &str) -> Sql {
    let insert =
        sql("insert into text_pieces (row_id, number, text) values (?, ?, ?) on conflict do nothing");
    insert.bind(id).bind(number).bind(piece)
}

/// Removes the pieces of the text with this id, unless a row that has it is stored. For an embedded database.
pub async fn remove_of_unstored(store: &Store, id: &Arc<str>) -> Result<(), StoreError> {
    store
        .execute_all(Load::of(None, PIECE_BYTES_MAX), vec![removal(id)])
        .await
}

/// That no row has a text, whose id is as said. Marks are looked for in indexes, of which these conditions are a part.
macro_rules! no_row_has {
    ($id:literal) => {
        concat!(
            "not exists (select 1 from runs r where r.id = ",
            $id,
            ")
         and not exists (select 1 from tap_events t where t.id = ",
            $id,
            ")
         and not exists (select 1 from pattern_versions v where substr(v.graph, 1, 1) = 'p' and substr(v.graph, 14) = ",
            $id,
            ")
         and not exists (select 1 from pattern_definitions d
             where substr(d.definitions, 1, 1) = 'p' and substr(d.definitions, 14) = ",
            $id,
            ")
         and not exists (select 1 from pattern_drafts f where substr(f.graph, 1, 1) = 'p' and substr(f.graph, 14) = ",
            $id,
            ")
         and not exists (select 1 from pattern_drafts f
             where substr(f.definitions, 1, 1) = 'p' and substr(f.definitions, 14) = ",
            $id,
            ")"
        )
    };
}

fn removal(id: &Arc<str>) -> Sql {
    let delete = sql(concat!(
        "delete from text_pieces where row_id = ? and ",
        no_row_has!("?")
    ));
    // Once more for each kind of row.
    (0..7).fold(delete, |delete, _| delete.bind(id))
}

/// A graph or definitions, as the row has them.
#[derive(Clone, Debug)]
pub struct Text {
    in_row: Arc<str>,
    bytes: usize,
}

impl Text {
    /// A text that is in the row itself.
    pub fn whole(text: &Arc<str>) -> Self {
        Text {
            in_row: text.clone(),
            bytes: text.len(),
        }
    }

    /// The mark of one that is in pieces with this id, as `content_text` reads it.
    fn marked(text: &str, id: &str) -> Self {
        Text {
            in_row: format!("p{:012}{id}", text.len()).into(),
            bytes: text.len(),
        }
    }

    /// What the row has of it.
    pub(crate) fn in_row(&self) -> &Arc<str> {
        &self.in_row
    }

    /// How many bytes of it are in the row.
    pub fn bytes_in_row(&self) -> usize {
        self.in_row.len()
    }

    /// How many bytes it has.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

/// Graphs and definitions that are stored in pieces before their rows. Whoever has set some apart calls [`Apart::settle`] afterwards, also if
/// the sender of the request has gone, or something fails.
#[derive(Debug, Default)]
pub struct Apart(Vec<Arc<str>>);

impl Apart {
    /// Stores a text in pieces if it is large and the database is an embedded one. Gives what its row, which is to be stored next, has of
    /// it.
    pub async fn put(&mut self, store: &Store, owner: UserId, text: &Arc<str>) -> Result<Text, StoreError> {
        if store.is_shared() || !is_large(text) {
            return Ok(Text::whole(text));
        }
        let id: Arc<str> = entropy::new_uuid().to_string().into();
        self.0.push(id.clone());
        for (number, piece) in numbered(text) {
            let load = Load::of(Some(owner), piece.len());
            store
                .execute_all(load, vec![insertion(&id, number, piece)])
                .await?;
        }
        Ok(Text::marked(text, &id))
    }

    /// Removes the pieces of those that no row has. What can't be removed now is removed later, as after a crash.
    pub async fn settle(self, store: &Store) {
        for id in self.0 {
            if let Err(error) = remove_of_unstored(store, &id).await {
                tracing::warn!(%id, "The pieces of a graph that was not stored are removed later: {}", chain(&error));
            }
        }
    }
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

/// Ids of texts that have pieces, but that no row has, although one would by now if they were made before a time: as many as the limit
/// says. For an embedded database. Those that have pieces are found one after another in the index.
pub async fn unstored(db: &mut Db<'_>, before: Timestamp, limit: i64) -> Result<Vec<(String,)>, StoreError> {
    let before = ids_from(before);
    let query = sql(concat!(
        "with recursive known(id) as (
             select min(row_id) from text_pieces where row_id < ?
             union all
             select (select min(x.row_id) from text_pieces x where x.row_id > known.id and x.row_id < ?)
             from known where known.id is not null)
         select known.id from known where known.id is not null and ",
        no_row_has!("known.id"),
        " limit ?"
    ));
    db.all(query.bind(&before).bind(&before).bind(limit)).await
}

/// What ids begin with, or come after, that are made from a time on: they are UUIDv7.
fn ids_from(at: Timestamp) -> String {
    let ms = at.millis().max(0);
    format!("{:08x}-{:04x}", ms >> 16, ms & 0xffff)
}

#[cfg(test)]
mod tests {
    use super::{PIECE_BYTES_MAX, Text, WHOLE_BYTES_MAX, ids_from, mark, pieces};
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
    fn the_mark_of_a_graph_tells_its_bytes_and_the_id_of_its_pieces_and_is_no_json() {
        let id = "01932c07-209e-7f64-b0a3-5c1f1b0e6f3a";
        let text = Text::marked(&"ä".repeat(200_000), id);
        let mark = text.in_row();
        assert_eq!(&**mark, "p00000040000001932c07-209e-7f64-b0a3-5c1f1b0e6f3a");
        assert_eq!((mark.len(), text.bytes_in_row(), text.bytes()), (49, 49, 400_000));
        assert!(serde_json::from_str::<serde_json::Value>(mark).is_err());
    }

    #[test]
    fn what_is_in_pieces_is_too_large_for_lists_and_for_one_piece() {
        let listed = usize::try_from(LISTED_CHARS_MAX).unwrap();
        assert!(WHOLE_BYTES_MAX >= 4 * listed && WHOLE_BYTES_MAX > PIECE_BYTES_MAX);
    }

    #[test]
    fn ids_are_compared_with_times() {
        let at = ids_from(Timestamp::from_millis(0x0193_2c07_209e));
        assert_eq!(at, "01932c07-209e");
        assert!("01932c07-209d-7fff-bfff-ffffffffffff" < at.as_str());
        assert!(at.as_str() < "01932c07-209e-7000-8000-000000000000");
    }
}
