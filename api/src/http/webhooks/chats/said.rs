//! What a run says to whoever has written to a chat, as text: by what it streams, responds or returns.

use heddle_execution::Ended;
use heddle_model::status::RunStatus;
use heddle_runtime::response_stream::StreamFormat;
use serde::Deserialize;
use serde_json::value::RawValue;

/// Bytes of an answer on a page, or in JSON; what is more is cut off.
const ANSWER_BYTES_MAX: usize = 1 << 20;

/// Of an object, the fields that have what it says. Nothing else of it is built, however large it is.
#[derive(Default, Deserialize)]
struct Fields<'v> {
    #[serde(borrow)]
    text: Option<&'v RawValue>,
    #[serde(borrow)]
    answer: Option<&'v RawValue>,
    #[serde(borrow)]
    message: Option<&'v RawValue>,
    #[serde(borrow)]
    output: Option<&'v RawValue>,
}

impl Fields<'_> {
    /// The first that is text.
    fn said(&self) -> Option<String> {
        let fields = [self.text, self.answer, self.message, self.output];
        fields.into_iter().flatten().find_map(|value| string(value.get()))
    }
}

fn string(json: &str) -> Option<String> {
    serde_json::from_str(json).ok()
}

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
    let json = value.get();
    let said = match json.bytes().next() {
        Some(b'"') => string(json),
        Some(b'{') => {
            let fields: Fields<'_> = serde_json::from_str(json).unwrap_or_default();
            fields.said()
        }
        Some(b'n') => Some(String::new()),
        _ => None,
    };
    let mut said = said.unwrap_or_else(|| json.to_owned());
    said.truncate(said.floor_char_boundary(ANSWER_BYTES_MAX));
    said
}

/// A text as a server-sent event.
pub fn event(text: &str) -> String {
    let text = text.replace("\r\n", "\n");
    let lines = text.split(['\r', '\n']).map(|line| format!("data: {line}\n"));
    lines.chain(["\n".to_owned()]).collect()
}

/// The text of a streamed answer, gathered piece by piece.
pub struct StreamedText {
    format: StreamFormat,
    bytes: Vec<u8>,
}

impl StreamedText {
    pub fn new(format: StreamFormat) -> Self {
        StreamedText {
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
