//! All pages of a list. Request: `pagination: {type: "link" | "cursor" | "page", maxPages, items?, cursor?, parameter?,
//! start?, mayRefuse?}`. Result: `{status, headers}` of the last page, `{items: [...], pages, more}`: the pages' items one after the
//! other, how many pages were asked for, and whether there are more. Where the last page has no list at all, its body comes
//! as well, as `text`: it may say why. With `mayRefuse`, that a list is missing is not this effect's failure but the result's
//! `missing`, for a node that looks first whether the body refuses. A page whose status is not 2xx is the result as
//! without pagination, with the `items` and `pages` so far.

use super::super::large::values_at_most;
use super::super::progress::EffectResult;
use super::super::run::interrupted;
use super::address::{check_granted, place, with_query};
use super::answer::{Answer, Content};
use super::exchange::Exchange;
use super::failure::failed;
use super::request::{Kind, Pagination};
use super::sender::Sender;
use crate::aside::aside_if_large;
use heddle_sandbox::{EffectCode, EffectError};
use reqwest::Url;
use reqwest::header::{HeaderMap, LINK};
use serde_json::Value;
use std::collections::HashSet;

/// Values of all pages together: each takes up to a hundred times the room that it has in a page.
const VALUES_MAX: usize = 1_000_000;

/// Asks for page after page.
pub(super) async fn all(sender: &Sender<'_>, first: Exchange, pagination: &Pagination) -> EffectResult {
    let mut exchange = first.for_pages();
    if pagination.kind == Kind::Page {
        exchange.url = numbered(&exchange.url, pagination, 0);
    }
    let mut seen = HashSet::from([exchange.url.clone()]);
    let mut found = Found::default();
    loop {
        let mut answer = sender.send(exchange.clone()).await?;
        found.pages += 1;
        if !(200..300).contains(&answer.status) {
            return found.with(answer.into_value(sender.context)?, sender).await;
        }
        let page = read(&mut answer, &mut found, sender, pagination).await?;
        let page = page.map_err(|error| {
            let message = format!(
                "Page {} of {} is not valid JSON: {error}.",
                found.pages,
                place(&answer.url)
            );
            EffectError::new(EffectCode::Parse, message)
        })?;
        let items = match page.items {
            Err(missing) if pagination.may_refuse => {
                let mut ended = found.with(answer.into_value(sender.context)?, sender).await?;
                ended["missing"] = missing.into();
                return Ok(ended);
            }
            other => other.map_err(|missing| EffectError::new(EffectCode::Parse, missing))?,
        };
        let has_list = items.is_some();
        let items = items.unwrap_or_default();
        let was_empty = items.is_empty();
        found.add(
            &items,
            answer.body().len(),
            sender.context.bounds.result_bytes_max,
        )?;
        let next = match pagination.kind {
            Kind::Link => link(&answer)?,
            Kind::Cursor => next_by_cursor(&exchange.url, page.cursor?, pagination)?,
            Kind::Page if was_empty => None,
            Kind::Page => Some(numbered(&exchange.url, pagination, found.pages)),
        };
        let Some(next) = next else {
            let ended = match has_list {
                true => last(answer, sender)?,
                false => answer.into_value(sender.context)?,
            };
            return found.with(ended, sender).await;
        };
        if found.pages >= pagination.max_pages {
            found.more = true;
            return found.with(last(answer, sender)?, sender).await;
        }
        if !seen.insert(next.clone()) {
            let message = format!(
                "{} links from page {} to a page that was already read.",
                place(&next),
                found.pages
            );
            return Err(failed(message));
        }
        if next.origin() != sender.origin.origin() {
            check_granted(&next, &sender.context.hosts)?;
        }
        exchange = exchange.moved(next, &sender.context.vault)?;
    }
}

/// What the body of a page says.
struct Page {
    /// Its items, as [`items`] has them: as JSON, with commas between.
    items: Result<Option<String>, String>,
    /// Where the next page is, if cursors tell that.
    cursor: Result<Option<String>, EffectError>,
}

impl Page {
    fn of(mut body: Value, url: &Url, pagination: &Pagination, number: u32) -> Self {
        // Before the items are taken out of the body.
        let cursor = match pagination.kind {
            Kind::Cursor => cursor(&body, pagination),
            Kind::Link | Kind::Page => Ok(None),
        };
        Page {
            items: items(&mut body, url, pagination, number).map(|items| items.map(as_json)),
            cursor,
        }
    }
}

/// Values take many times as much memory, and the next pages may be long in coming.
fn as_json(items: Vec<Value>) -> String {
    let mut json = Value::Array(items).to_string();
    // The brackets.
    json.pop();
    json.drain(..json.len().min(1));
    json
}

/// Reads a page's body. It may have megabytes, which others must not wait for: neither for reading them, nor for taking items out
/// of what was read, nor for removing the rest. Nothing is built before its values are counted.
async fn read(
    answer: &mut Answer,
    found: &mut Found,
    sender: &Sender<'_>,
    pagination: &Pagination,
) -> Result<Result<Page, serde_json::Error>, EffectError> {
    let bytes = match &mut answer.content {
        Content::Bytes(bytes) => std::mem::take(bytes),
        Content::File(_) | Content::Live(_) => Vec::new(),
    };
    let owner = sender.context.connections.owner();
    let (url, pagination, number) = (answer.url.clone(), pagination.clone(), found.pages);
    let left = VALUES_MAX.saturating_sub(found.values);
    let done = aside_if_large(owner, bytes.len(), move || {
        let values = values_at_most(&bytes);
        let body = (values <= left).then(|| serde_json::from_slice::<Value>(&bytes));
        let page = body.map(|body| body.map(|body| Page::of(body, &url, &pagination, number)));
        (values, page, bytes)
    });
    let (values, page, bytes) = done.await.ok_or_else(interrupted)?;
    if let Content::Bytes(content) = &mut answer.content {
        *content = bytes;
    }
    found.values = found.values.saturating_add(values);
    page.ok_or_else(|| {
        failed(format!(
            "The first {} pages together have more than {VALUES_MAX} values: ask for fewer pages by `maxPages`, or for each by a \
             request of its own.",
            found.pages
        ))
    })
}

/// Status and headers, without the body, whose items are taken.
fn last(mut answer: Answer, sender: &Sender<'_>) -> EffectResult {
    answer.content = Content::Bytes(Vec::new());
    answer.into_value(sender.context)
}

#[derive(Default)]
struct Found {
    /// As those of a page.
    items: String,
    bytes: usize,
    values: usize,
    pages: u32,
    more: bool,
}

impl Found {
    fn add(&mut self, items: &str, bytes: usize, bytes_max: usize) -> Result<(), EffectError> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes > bytes_max {
            return Err(failed(format!(
                "The first {} pages together are larger than the {} KiB allowed.",
                self.pages,
                bytes_max >> 10
            )));
        }
        if !items.is_empty() && !self.items.is_empty() {
            self.items.push(',');
        }
        self.items.push_str(items);
        Ok(())
    }

    /// The result, once there is room for the items' values.
    async fn with(self, mut result: Value, sender: &Sender<'_>) -> EffectResult {
        let place = &sender.context.place;
        result["items"] = place.read(format!("[{}]", self.items)).await?;
        result["pages"] = self.pages.into();
        result["more"] = self.more.into();
        Ok(result)
    }
}

/// Characters of a field's name that an error shows, and names of fields.
const NAME_CHARS_MAX: usize = 40;
const NAMES_MAX: usize = 12;

/// A page's items; none where there is nothing or null in their place. The first page must have the list, or null in its
/// place, since a path that is wrong would look like an empty list otherwise; `?` behind the path is for services that leave
/// empty lists out. Pages after it may be without. The list is taken out of the body.
fn items(
    body: &mut Value,
    url: &Url,
    pagination: &Pagination,
    page: u32,
) -> Result<Option<Vec<Value>>, String> {
    let wrong = |what: String| {
        Err(format!(
            "Page {page} of {} has no list of items: {what}",
            place(url)
        ))
    };
    let Some(path) = &pagination.items else {
        return match body {
            Value::Array(items) => Ok(Some(std::mem::take(items))),
            other => wrong(format!(
                "its body is {}. `pagination.items` says which of its fields is the list.",
                described(other)
            )),
        };
    };
    let (path, is_optional) = match path.strip_suffix('?') {
        Some(path) => (path, true),
        None => (path.as_str(), false),
    };
    match at_path_mut(body, path) {
        Some(Value::Array(items)) => Ok(Some(std::mem::take(items))),
        Some(Value::Null) => Ok(None),
        None if is_optional || page > 1 => Ok(None),
        None => wrong(format!(
            "`pagination.items` names `{path}`, but its body is {}. If the service leaves the field out when the list is \
             empty, write `{path}?`.",
            described(body)
        )),
        Some(other) => wrong(format!(
            "`pagination.items` names `{path}`, which is {}.",
            described(other)
        )),
    }
}

/// What a value is, with the names of its fields.
fn described(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(_) => "a boolean".to_owned(),
        Value::Number(_) => "a number".to_owned(),
        Value::String(_) => "a string".to_owned(),
        Value::Array(_) => "an array".to_owned(),
        Value::Object(fields) if fields.is_empty() => "an object without fields".to_owned(),
        Value::Object(fields) => {
            let names = fields.keys().take(NAMES_MAX).map(|name| {
                // Not cut: a secret may be in it, which is told only as a whole.
                match name.chars().nth(NAME_CHARS_MAX) {
                    None => format!("`{name}`"),
                    Some(_) => "one with a long name".to_owned(),
                }
            });
            let names = names.collect::<Vec<_>>().join(", ");
            let more = if fields.len() > NAMES_MAX { ", …" } else { "" };
            format!("an object with {names}{more}")
        }
    }
}

fn at_path<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(value, |value, name| match value {
        Value::Array(items) => items.get(name.parse::<usize>().ok()?),
        other => other.get(name),
    })
}

/// The value at a path, to be changed.
fn at_path_mut<'a>(value: &'a mut Value, path: &str) -> Option<&'a mut Value> {
    path.split('.').try_fold(value, |value, name| match value {
        Value::Array(items) => items.get_mut(name.parse::<usize>().ok()?),
        Value::Object(fields) => fields.get_mut(name),
        _ => None,
    })
}

/// The URL of the page after `done` pages.
fn numbered(url: &Url, pagination: &Pagination, done: u32) -> Url {
    let number = pagination.start.unwrap_or(1).saturating_add(done);
    let name = pagination.parameter.as_deref().unwrap_or("page");
    with_query(url, name, &number.to_string())
}

/// The cursor of the next page, if there is one.
fn cursor(body: &Value, pagination: &Pagination) -> Result<Option<String>, EffectError> {
    let Some(path) = &pagination.cursor else {
        return Err(EffectError::parameter(
            "`pagination.cursor` says where the next cursor is; it is missing.",
        ));
    };
    match at_path(body, path) {
        None | Some(Value::Null | Value::Bool(false)) => Ok(None),
        Some(Value::String(text)) if text.is_empty() => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(Value::Number(number)) => Ok(Some(number.to_string())),
        Some(_) => {
            let message = format!("`{path}` in the page's body is neither text nor a number.");
            Err(EffectError::new(EffectCode::Parse, message))
        }
    }
}

fn next_by_cursor(
    url: &Url,
    cursor: Option<String>,
    pagination: &Pagination,
) -> Result<Option<Url>, EffectError> {
    let Some(cursor) = cursor else {
        return Ok(None);
    };
    match &pagination.parameter {
        Some(name) => Ok(Some(with_query(url, name, &cursor))),
        None => joined(url, &cursor).map(Some),
    }
}

fn joined(url: &Url, next: &str) -> Result<Url, EffectError> {
    url.join(next).map_err(|error| {
        failed(format!(
            "{} names a next page that is not a URL: {error}.",
            place(url)
        ))
    })
}

fn link(answer: &Answer) -> Result<Option<Url>, EffectError> {
    next_link(&answer.headers)
        .map(|next| joined(&answer.url, &next))
        .transpose()
}

/// The target of the first link with the relation `next`.
pub fn next_link(headers: &HeaderMap) -> Option<String> {
    let values = headers
        .get_all(LINK)
        .iter()
        .filter_map(|value| value.to_str().ok());
    for value in values {
        let mut rest = value;
        while let Some((_, after)) = rest.split_once('<') {
            let (target, after) = after.split_once('>')?;
            let end = end_of_parameters(after);
            let (parameters, others) = after.split_at(end);
            if is_next(parameters) {
                return Some(target.to_owned());
            }
            rest = others;
        }
    }
    None
}

/// Where the next link begins: at a comma outside of quotes.
fn end_of_parameters(text: &str) -> usize {
    let mut quoted = false;
    let comma = text.bytes().position(|byte| {
        quoted ^= byte == b'"';
        byte == b',' && !quoted
    });
    comma.unwrap_or(text.len())
}

fn is_next(parameters: &str) -> bool {
    parameters.split(';').any(|parameter| {
        parameter.split_once('=').is_some_and(|(name, value)| {
            let relations = value.trim().trim_matches('"');
            name.trim().eq_ignore_ascii_case("rel")
                && relations
                    .split_whitespace()
                    .any(|it| it.eq_ignore_ascii_case("next"))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn items_of_pages_follow_each_other() {
        let mut found = Found::default();
        let pages = [
            vec![],
            vec![json!(1), json!({"a": [2.5]})],
            vec![],
            vec![json!("],[")],
        ];
        for items in pages {
            let is_empty = items.is_empty();
            let items = as_json(items);
            assert_eq!(items.is_empty(), is_empty);
            found.add(&items, 1, 10).unwrap();
        }
        assert_eq!(found.items, r#"1,{"a":[2.5]},"],[""#);
    }
}
