//! The parameters of an HTTP request.

use super::super::framing::Framing;
use super::auth::Auth;
use crate::files::FileValue;
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Request {
    pub method: String,
    pub url: String,
    /// What `url` is below, unless the connection says.
    #[serde(default)]
    pub base_url: Option<String>,
    #[serde(default)]
    pub headers: Vec<(String, String)>,
    #[serde(default)]
    pub body: Option<Body>,
    #[serde(default)]
    pub auth: Option<Auth>,
    #[serde(default)]
    pub timeout_ms: Option<f64>,
    #[serde(default = "yes")]
    pub follow_redirects: bool,
    #[serde(default)]
    pub idempotency_key: Option<String>,
    #[serde(default)]
    pub response: BodyUse,
    /// First and last of each range of statuses that the node takes, if the body is read while it arrives.
    #[serde(default)]
    pub accepted: Option<Vec<(f64, f64)>>,
    #[serde(default)]
    pub pagination: Option<Pagination>,
}

fn yes() -> bool {
    true
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Body {
    Text(String),
    Base64(String),
    File(FileValue),
    /// One after the other, as in a form with files.
    Pieces(Vec<Piece>),
}

/// A piece of a body.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Piece {
    Text(String),
    Base64(String),
    File(FileValue),
}

/// What becomes of a response's body.
#[derive(Clone, Copy, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub(super) enum BodyUse {
    /// It is part of the result.
    #[default]
    Content,
    /// That of a 2xx status is a file.
    File,
    /// That of a 2xx status is read while it arrives, as one of these.
    Lines,
    JsonLines,
    Events,
}

impl BodyUse {
    /// As what the body is read while it arrives, if it is to be.
    pub fn live(self) -> Option<Framing> {
        match self {
            BodyUse::Content | BodyUse::File => None,
            BodyUse::Lines => Some(Framing::Lines),
            BodyUse::JsonLines => Some(Framing::JsonLines),
            BodyUse::Events => Some(Framing::Events),
        }
    }
}

/// How the next page is found.
#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Pagination {
    #[serde(rename = "type")]
    pub kind: Kind,
    pub max_pages: u32,
    /// Where in the body the items are, as a dotted path; without it the body itself is the list.
    #[serde(default)]
    pub items: Option<String>,
    /// `cursor`: where in the body the next cursor is.
    #[serde(default)]
    pub cursor: Option<String>,
    /// `cursor` and `page`: the query parameter; a cursor without one is the next page's URL.
    #[serde(default)]
    pub parameter: Option<String>,
    /// `page`: number of the first page.
    #[serde(default)]
    pub start: Option<u32>,
    /// The node looks in a body without a list for a refusal, so the result tells what is missing instead of failing.
    #[serde(default)]
    pub may_refuse: bool,
}

#[derive(Clone, Copy, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(super) enum Kind {
    /// The Link header's `rel="next"` (RFC 8288).
    Link,
    /// A field of the body.
    Cursor,
    /// Numbers, until a page has no items.
    Page,
}
