//! Reads a workspace's rows in pages of bounded size, part by part.

use super::ArchiveError;
use super::part::{Column, Each, Key, Kind, Part, Sealed};
use super::parts::{DEFINITIONS, DRAFTS, MODULES, PARTS, RUNS, TAP_EVENTS, VERSIONS};
use crate::content_text::content_sql;
use crate::db::{Arg, Db, Sql, sql};
use crate::runs::event_text::event_sql;
use crate::vault::{Sealed as Ciphertext, Vault};
use heddle_model::ids::WorkspaceId;
use serde_json::{Map, Value};
use sqlx_macros::FromRow;

/// Bytes of a page, unless a single row has more.
const PAGE_BYTES_MAX: i64 = 1 << 20;
const PAGE_ROWS_MAX: i64 = 500;
/// What a row takes beside its long texts, roughly.
const ROW_BYTES: i64 = 300;

/// Where the opened text of a secret is in a row.
pub(super) const OPENED: &str = "$secret";
/// Where a module is, in hex.
pub(super) const MODULE: &str = "$module";

/// Some rows of a part.
#[derive(Clone, Debug)]
pub struct Page {
    /// The part's name.
    pub of: &'static str,
    /// Objects, as JSON.
    pub rows: Vec<String>,
}

/// Where the reading of a workspace is.
#[derive(Debug)]
pub struct Reading {
    workspace: WorkspaceId,
    part: usize,
    /// What the part is read for, the next one last; `None`: it has not begun.
    left: Option<Vec<String>>,
    after: Option<Place>,
}

/// Keys of a row, as many as its part has.
#[derive(Clone, Debug, FromRow)]
struct Place {
    key1: String,
    key2: String,
    key3: String,
    bytes: i64,
}

impl Place {
    fn args(&self, keys: &[Key]) -> Vec<Arg> {
        let texts = [&self.key1, &self.key2, &self.key3];
        let arg = |(key, text): (&Key, &String)| match key.is_number {
            // It was made of a number.
            true => text.parse::<i64>().unwrap_or_default().into(),
            false => text.into(),
        };
        keys.iter().zip(texts).map(arg).collect()
    }
}

impl Reading {
    /// Reads a workspace from its first row.
    pub const fn new(workspace: WorkspaceId) -> Self {
        Reading {
            workspace,
            part: 0,
            left: None,
            after: None,
        }
    }

    /// The next rows, all of one part; `None` after the last ones.
    pub async fn next(&mut self, db: &mut Db<'_>, vault: &Vault) -> Result<Option<Page>, ArchiveError> {
        while let Some(part) = PARTS.get(self.part) {
            let mut page = Page {
                of: part.name,
                rows: Vec::new(),
            };
            let mut bytes = 0;
            while bytes < PAGE_BYTES_MAX {
                if !self.more(db, vault, part, (&mut page, &mut bytes)).await? {
                    self.part += 1;
                    self.left = None;
                    break;
                }
            }
            if !page.rows.is_empty() {
                return Ok(Some(page));
            }
        }
        Ok(None)
    }

    /// Reads some more rows of a part; `false`: there are none.
    async fn more(
        &mut self,
        db: &mut Db<'_>,
        vault: &Vault,
        part: &'static Part,
        (page, bytes): (&mut Page, &mut i64),
    ) -> Result<bool, ArchiveError> {
        let left = match &mut self.left {
            Some(left) => left,
            left => left.insert(parents(db, self.workspace, part.each).await?),
        };
        let Some(parent) = left.last().cloned() else {
            return Ok(false);
        };
        let room = PAGE_BYTES_MAX - *bytes;
        match rows(db, part, &parent, self.after.take(), room).await? {
            Some((rows, last)) => {
                *bytes += last.bytes;
                self.after = Some(last);
                for row in rows {
                    page.rows.push(self.opened(db, vault, part, row).await?);
                }
            }
            None => {
                left.pop();
            }
        }
        Ok(true)
    }

    /// A row with its secret in place of the ciphertext.
    async fn opened(
        &self,
        db: &mut Db<'_>,
        vault: &Vault,
        part: &Part,
        row: String,
    ) -> Result<String, ArchiveError> {
        let Some(sealed) = part.sealed else {
            return Ok(row);
        };
        let corrupt = || ArchiveError::Wrong(format!("a row of {} can't be read", part.name));
        let mut row: Map<String, Value> = serde_json::from_str(&row).map_err(|_| corrupt())?;
        let (key, bytes) = sealed.columns();
        let text = |value: Option<Value>| value.and_then(|value| value.as_str().map(str::to_owned));
        let key = text(row.remove(key)).and_then(|key| key.parse().ok());
        let bytes = text(row.remove(bytes)).and_then(|bytes| hex::decode(bytes).ok());
        let ciphertext = Ciphertext {
            data_key: key.ok_or_else(corrupt)?,
            bytes: bytes.ok_or_else(corrupt)?,
        };
        let aad = aad(sealed, &row).ok_or_else(corrupt)?;
        let opened = vault.open(db, Some(self.workspace), &aad, &ciphertext).await?;
        let opened = std::str::from_utf8(&opened).map_err(|_| corrupt())?;
        row.insert(OPENED.to_owned(), opened.into());
        Ok(Value::Object(row).to_string())
    }
}

/// What the ciphertext of a row is bound to.
pub(super) fn aad(sealed: Sealed, row: &Map<String, Value>) -> Option<String> {
    let text = |name: &str| row.get(name)?.as_str();
    Some(match sealed {
        Sealed::Connection => format!("connections/{}", text("id")?),
        Sealed::Secret => format!("secrets/{}/{}", text("environment_id")?, text("name")?),
        Sealed::Endpoint => format!("webhook_endpoints/{}", text("id")?),
        Sealed::Subscription => format!("subscriptions/{}", text("endpoint_id")?),
    })
}

/// Ids of what a part is read for, the first one last.
async fn parents(db: &mut Db<'_>, workspace: WorkspaceId, each: Each) -> Result<Vec<String>, ArchiveError> {
    let query = match each {
        Each::Workspace => return Ok(vec![workspace.to_string()]),
        Each::Environment => "select id from environments where workspace_id = ? order by id desc",
        Each::Pattern => "select id from patterns where workspace_id = ? order by id desc",
        Each::Deployment => "select id from deployments where workspace_id = ? order by id desc",
    };
    let found: Vec<(String,)> = db.all(sql(query).bind(workspace)).await?;
    Ok(found.into_iter().map(|(id,)| id).collect())
}

/// Rows of a part after a place, with the keys of the last one and the bytes of all; `None`: there are none.
async fn rows(
    db: &mut Db<'_>,
    part: &'static Part,
    parent: &str,
    after: Option<Place>,
    room: i64,
) -> Result<Option<(Vec<String>, Place)>, ArchiveError> {
    let after = after.map(|after| after.args(part.keys));
    let places = limited(ordered(
        selected(sizes(db, part), part, parent, after.as_deref()),
        part,
    ));
    let places: Vec<Place> = db.all(places).await?;
    // All that have room, and one in any case.
    let mut bytes = 0;
    let mut last: Option<Place> = None;
    for place in places {
        let more = place.bytes.saturating_add(ROW_BYTES);
        if last.is_some() && bytes + more > room {
            break;
        }
        bytes += more;
        last = Some(place);
    }
    let Some(mut last) = last else {
        return Ok(None);
    };
    last.bytes = bytes;
    let query = selected(objects(db, part), part, parent, after.as_deref());
    let query = compared(query, part.keys, " <= ", &last.args(part.keys));
    let rows: Vec<(String,)> = db.all(ordered(query, part)).await?;
    Ok(Some((rows.into_iter().map(|(row,)| row).collect(), last)))
}

/// How many bytes a text has that may be elsewhere, and all of it; `None`: the column has none of these.
fn text_elsewhere(db: &Db<'_>, part: &Part, column: &str) -> Option<(&'static str, &'static str)> {
    match (part.name, column) {
        (RUNS | TAP_EVENTS, "event") => Some((event_sql!(bytes "t"), event_sql!(whole "t", db))),
        (VERSIONS | DRAFTS, "graph") => {
            Some((content_sql!(bytes "t.graph"), content_sql!(whole "t.graph", db)))
        }
        (DEFINITIONS | DRAFTS, "definitions") => Some((
            content_sql!(bytes "t.definitions"),
            content_sql!(whole "t.definitions", db),
        )),
        _ => None,
    }
}

/// Selects keys, and how long the long columns are.
fn sizes(db: &Db<'_>, part: &'static Part) -> Sql {
    let mut query = sql("select ");
    for (number, name) in [" as key1, ", " as key2, ", " as key3, "].into_iter().enumerate() {
        query = match part.keys.get(number) {
            Some(key) => query.push("cast(").push(key.column).push(" as text)"),
            None => query.push("''"),
        };
        query = query.push(name);
    }
    query = query.push("cast(0");
    let lengths = part.columns.iter().filter(|column| column.kind.is_text());
    for Column { name, .. } in lengths {
        query = query.push(" + coalesce(");
        query = match text_elsewhere(db, part, name) {
            Some((bytes, _)) => query.push(bytes),
            None => query.push("octet_length(t.").push(name).push(")"),
        };
        query = query.push(", 0)");
    }
    if part.name == MODULES {
        query = query.push(" + 2 * octet_length(t.wasm)");
    }
    query.push(" as bigint) as bytes")
}

/// Selects rows as JSON objects.
fn objects(db: &Db<'_>, part: &'static Part) -> Sql {
    let (object, hex, end_of_hex) = match db.is_postgres() {
        true => ("json_build_object(", "encode(", ", 'hex')"),
        false => ("json_object(", "hex(", ")"),
    };
    let mut query = sql("select cast(").push(object);
    let mut comma = "'";
    for Column { name, kind } in part.columns {
        // It follows from what it is for.
        if matches!(kind, Kind::ScopeOfWorkspace) {
            continue;
        }
        query = query.push(comma).push(name).push("', ");
        query = match text_elsewhere(db, part, name) {
            Some((_, whole)) => query.push(whole),
            None => query.push("t.").push(name),
        };
        comma = ", '";
    }
    if let Some(sealed) = part.sealed {
        let (key, bytes) = sealed.columns();
        query = query.push(", '").push(key).push("', t.").push(key);
        query = query.push(", '").push(bytes).push("', ").push(hex).push("t.");
        query = query.push(bytes).push(end_of_hex);
    }
    if part.name == MODULES {
        query = query.push(", '").push(MODULE).push("', ").push(hex);
        query = query.push("t.wasm").push(end_of_hex);
    }
    query.push(") as text)")
}

fn selected(query: Sql, part: &'static Part, parent: &str, after: Option<&[Arg]>) -> Sql {
    let mut query = query.push(" from ").push(part.from);
    for _ in part.from.matches('?') {
        query = query.bind(parent);
    }
    match after {
        Some(after) => compared(query, part.keys, " > ", after),
        None => query,
    }
}

/// Compares the keys, as a row and the first one by itself: only that is looked for in an index.
fn compared(mut query: Sql, keys: &'static [Key], how: &'static str, place: &[Arg]) -> Sql {
    let (Some(first), Some(arg)) = (keys.first(), place.first()) else {
        return query;
    };
    let loosely = if how == " > " { " >= " } else { how };
    query = query.push(" and ").push(first.column).push(loosely).push("?");
    query = query.bind(arg.clone()).push(" and (");
    for (number, key) in keys.iter().enumerate() {
        query = query.push(if number == 0 { "" } else { ", " }).push(key.column);
    }
    query.push(")").push(how).list(place.iter().cloned())
}

fn ordered(query: Sql, part: &'static Part) -> Sql {
    let mut query = query;
    for (number, key) in part.keys.iter().enumerate() {
        let before = if number == 0 { " order by " } else { ", " };
        query = query.push(before).push(key.column);
    }
    query
}

fn limited(query: Sql) -> Sql {
    query.push(" limit ?").bind(PAGE_ROWS_MAX)
}
