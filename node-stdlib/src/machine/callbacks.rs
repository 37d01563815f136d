//! `$run.callbackUrls`: where the WaitForCallback nodes are called, as seen from the executing node. Each execution of
//! such a node has a URL of its own, which nobody can make out of another one's.

use super::run::{Outside, Run, State};
use heddle_contract::plan::NONE;
use heddle_values::{Object, Value, digest};
use std::fmt::Write;

impl<O: Outside> Run<'_, O> {
    /// The run's facts with the URLs, if the pattern waits for callbacks.
    pub(super) fn with_callbacks(&self, facts: Value) -> Value {
        let (Value::Object(mut facts), Value::Object(callbacks)) =
            (facts.clone(), self.context_field("callbacks"))
        else {
            return facts;
        };
        let text = |name: &str| {
            callbacks
                .get(name)
                .map(|text| text.to_text().to_utf8().into_owned())
        };
        let (base, key) = (text("base"), text("key"));
        let nodes = match callbacks.get("nodes") {
            Some(Value::Array(nodes)) => nodes.clone(),
            _ => Vec::new().into(),
        };
        // What asks by a form has another token, so that the service knows what it is before the run gets there.
        let lists = |name: &str, node: u32| match callbacks.get(name) {
            Some(Value::Array(nodes)) => nodes
                .iter()
                .any(|listed| matches!(listed, Value::Number(listed) if *listed as u32 == node)),
            _ => false,
        };
        let kind = |node: u32| match (lists("steps", node), lists("forms", node)) {
            (true, _) => "step\n",
            (false, true) => "form\n",
            (false, false) => "",
        };
        let mut urls = Object::new();
        for node in nodes.iter() {
            let Value::Number(node) = node else { continue };
            let place = self.state.borrow().callback_place(*node as u32);
            if let (Some(base), Some(key), Some(place)) = (&base, &key, place) {
                let token = token_of(key, &format!("{}{place}", kind(*node as u32)));
                let url = format!("{base}/{token}/{}", encoded(&place));
                urls.insert(self.plan.node(*node as u32).id(), Value::from(url));
            }
        }
        if let (1, Some((_, url))) = (nodes.len(), urls.iter().next()) {
            facts.insert("callbackUrl", url.clone());
        }
        facts.insert("callbackUrls", Value::Object(urls));
        Value::Object(facts)
    }
}

impl State<'_> {
    /// The place of a node's execution in the iteration, and on the element, that is executing; `None` if the node is
    /// in a loop that the executing node is not in.
    fn callback_place(&self, node: u32) -> Option<String> {
        let view = self.plan.node(node);
        let job = &self.current.job;
        let mut frame = job.place.frame;
        while self.frames.get(frame)?.scope != view.scope() {
            frame = self.frames.get(frame)?.parent;
            if frame == NONE {
                return None;
            }
        }
        let element = job.element.map(|(_, element)| element).filter(|_| view.each());
        let path = self.path(frame, element);
        let slash = if path.is_empty() { "" } else { "/" };
        Some(format!("{}{slash}{path}", view.id()))
    }
}

/// The first half of the HMAC-SHA256 of a text, in hexadecimal digits: enough that nobody guesses it.
fn token_of(key: &str, text: &str) -> String {
    let digest = digest::digest("sha256", Some(key.as_bytes()), text.as_bytes()).unwrap_or_default();
    digest::hex(digest.get(..16).unwrap_or_default())
}

/// A part of a URL's path (RFC 3986, unreserved characters only).
fn encoded(text: &str) -> String {
    text.bytes().fold(String::new(), |mut out, byte| {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => out.push(char::from(byte)),
            // Writing to a String can't fail.
            _ => drop(write!(out, "%{byte:02X}")),
        }
        out
    })
}
