//! The path after a webhook's id, as its node describes it.

use heddle_model::webhook::Segment;
use percent_encoding::percent_decode_str;
use std::collections::BTreeMap;

/// What follows the id in the path of a request, without the slash between them; none if nothing does.
pub(super) fn below(path: &str) -> Option<&str> {
    let (_id, below) = path.strip_prefix("/webhooks/")?.split_once('/')?;
    Some(below)
}

/// What stands for each name of the path; `None` if it is another path.
pub(super) fn params<'s>(segments: &'s [Segment], below: Option<&str>) -> Option<BTreeMap<&'s str, String>> {
    let Some(below) = below else {
        return segments.is_empty().then(BTreeMap::new);
    };
    let mut given = below.strip_suffix('/').unwrap_or(below).split('/');
    let mut params = BTreeMap::new();
    for segment in segments {
        let text = percent_decode_str(given.next()?).decode_utf8().ok()?;
        match segment {
            Segment::Text(expected) if *expected == text => {}
            Segment::Text(_) => return None,
            Segment::Name(_) if text.is_empty() => return None,
            Segment::Name(name) => drop(params.insert(name.as_str(), text.into_owned())),
        }
    }
    (!segments.is_empty() && given.next().is_none()).then_some(params)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matched(path: &str, request: &str) -> Option<Vec<(String, String)>> {
        let segments: Vec<Segment> = path
            .split('/')
            .filter(|text| !text.is_empty())
            .map(|text| match text.strip_prefix(':') {
                Some(name) => Segment::Name(name.to_owned()),
                None => Segment::Text(text.to_owned()),
            })
            .collect();
        let params = params(&segments, below(request))?;
        Some(
            params
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
        )
    }

    #[test]
    fn a_path_is_matched_as_a_whole_and_decoded_by_segment() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        for (path, request, params) in [
            ("", "/webhooks/x", Some(vec![])),
            ("", "/webhooks/x/", None),
            ("", "/webhooks/x/orders", None),
            ("/orders", "/webhooks/x", None),
            ("/orders", "/webhooks/x/orders", Some(vec![])),
            ("/orders", "/webhooks/x/orders/", Some(vec![])),
            ("/orders", "/webhooks/x/Orders", None),
            ("/orders", "/webhooks/x/orders/7", None),
            ("/orders/:id", "/webhooks/x/orders", None),
            ("/orders/:id", "/webhooks/x/orders//", None),
            (
                "/orders/:id",
                "/webhooks/x/orders/a%2Fb%20c",
                Some(vec![pair("id", "a/b c")]),
            ),
            ("/orders/:id", "/webhooks/x/orders/%FF", None),
            (
                "/:a/:b",
                "/webhooks/x/1/2",
                Some(vec![pair("a", "1"), pair("b", "2")]),
            ),
        ] {
            assert_eq!(matched(path, request), params, "{path} {request}");
        }
    }
}
