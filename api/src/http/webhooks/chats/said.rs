//! What a run says to whoever has written to a chat, as text: by what it streams, responds or returns.

use heddle_execution::Ended;
use heddle_model::status::RunStatus;
use heddle_runtime::response_stream::StreamFormat;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// Bytes of an answer on a page, or in JSON; what is more is cut off.
const ANSWER_BYTES_MAX: usize = 1 << 20;
/// Of an object, the fields that have what it says.
const FIELDS: [&str; 4] = ["text", "answer", "message", "output"];

/// What the end of a run says; none if it has failed, or says nothing that is text.
pub fn answer(ended: &Ended) -> Option<String> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Responded<'r> {
        #[serde(borrow)]
        body: &'r RawValue,
        body_type: String,
    }
    if let Some(responded) = &ended.response {
        let responded: Responded<'_> = serde_json::from_str(responded.get()).ok()?;
        let is_text = matches!(responded.body_type.as_str(), "text" | "json");
        return is_text.then(|| text(responded.body));
    }
    if ended.status != RunStatus::Success {
        return None;
    }
    Some(ended.output.as_deref().map(text).unwrap_or_default())
}

fn text(value: &RawValue) -> String {
    let value: Value = serde_json::from_str(value.get()).unwrap_or_default();
    let said = match &value {
        Value::Object(fields) => FIELDS.iter().find_map(|name| fields.get(*name)?.as_str()),
        other => other.as_str(),
    };
    let mut said = match (said, &value) {
        (Some(said), _) => said.to_owned(),
        (None, Value::Null) => String::new(),
        (None, _) => value.to_string(),
    };
    said.truncate(said.floor_char_boundary(ANSWER_BYTES_MAX));
    said
}

/// A text as a server-sent event.
pub fn event(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    let lines = text.split(['\r', '\n']).map(|line| format!("data: {line}\n"));
    lines.chain(["\n".to_owned()]).collect()
}

/// The text of what is streamed.
pub struct Gathered {
    format: StreamFormat,
    bytes: Vec<u8>,
}

impl Gathered {
    pub fn new(format: StreamFormat) -> Self {
        Gathered {
            format,
            bytes: Vec::new(),
        }
    }

    /// Adds a piece. Of server-sent events, those that have no name.
    pub fn add(&mut self, piece: &[u8]) {
        if self.bytes.len() > ANSWER_BYTES_MAX {
            return;
        }
        if self.format != StreamFormat::Sse {
            return self.bytes.extend_from_slice(piece);
        }
        let lines = || piece.split(|byte| *byte == b'\n');
        if lines().any(|line| line.starts_with(b"event: ")) {
            return;
        }
        for (place, data) in lines()
            .filter_map(|line| line.strip_prefix(b"data: "))
            .enumerate()
        {
            if place > 0 {
                self.bytes.push(b'\n');
            }
            self.bytes.extend_from_slice(data);
        }
    }

    pub fn finish(mut self) -> String {
        self.bytes.truncate(ANSWER_BYTES_MAX);
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}
