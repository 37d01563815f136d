//! What was thrown, as the host is told of it.

use crate::codec::text_of;
use heddle_javascript::protocol::SOURCE_NAME;
use heddle_javascript::wire::{Text, Writer};
use rquickjs::{CaughtError, Coerced, Ctx, Error, Object, Value};

/// Bytes of a message or stack that are kept.
const TEXT_BYTES_MAX: usize = 4 << 10;

/// A failure of the user's code.
#[derive(Default)]
pub struct Failure {
    pub name: String,
    pub message: String,
    pub code: String,
    pub stack: String,
}

impl Failure {
    /// A failure that the engine itself finds.
    pub fn new(name: &str, message: impl Into<String>) -> Self {
        Failure {
            name: name.into(),
            message: message.into(),
            ..Failure::default()
        }
    }

    /// What `error` stands for; takes the pending exception.
    pub fn caught(ctx: &Ctx<'_>, error: Error) -> Self {
        match CaughtError::from_error(ctx, error) {
            CaughtError::Error(error) => Failure::new("Error", error.to_string()),
            CaughtError::Exception(exception) => of_object(exception.as_object()),
            CaughtError::Value(value) => of_value(ctx, &value),
        }
    }

    /// Writes it in the form of the protocol.
    pub fn write(&self, writer: &mut Writer) {
        let (line, column) = position(&self.stack).unwrap_or_default();
        writer.object();
        for (key, text) in [
            ("name", &self.name),
            ("message", &self.message),
            ("code", &self.code),
            ("stack", &self.stack),
        ] {
            writer.key(Text::Utf8(key));
            writer.text(Text::Utf8(shortened(text)));
        }
        writer.key(Text::Utf8("line"));
        writer.number(f64::from(line));
        writer.key(Text::Utf8("column"));
        writer.number(f64::from(column));
        writer.end();
    }
}

/// An Error, or another object that was thrown. Its getters are the user's and may throw themselves.
fn of_object(object: &Object<'_>) -> Failure {
    let text = |name: &str| {
        let text = object.get::<_, Option<rquickjs::String>>(name);
        let text = text.inspect_err(|_| drop(object.ctx().catch()));
        text.ok().flatten().as_ref().map(text_of)
    };
    Failure {
        name: text("name").unwrap_or_else(|| "Error".into()),
        message: text("message").unwrap_or_default(),
        code: text("code").unwrap_or_default(),
        stack: text("stack").unwrap_or_default(),
    }
}

fn of_value<'js>(ctx: &Ctx<'js>, value: &Value<'js>) -> Failure {
    if let Some(object) = value.as_object() {
        let failure = of_object(object);
        if !failure.message.is_empty() {
            return failure;
        }
        let json = ctx.json_stringify(value.clone()).ok().flatten();
        let json = json.as_ref().map(text_of).unwrap_or_default();
        drop(ctx.catch());
        return Failure::new("Error", or_nothing(json));
    }
    let text = value.get::<Coerced<rquickjs::String>>();
    drop(ctx.catch());
    Failure::new(
        "Error",
        or_nothing(text.map(|text| text_of(&text.0)).unwrap_or_default()),
    )
}

fn or_nothing(text: String) -> String {
    match text.is_empty() {
        true => "Something was thrown that has no text".into(),
        false => text,
    }
}

/// Line and column of the first frame in the user's source: `… (code:3:5)` or `at code:3:5`.
fn position(stack: &str) -> Option<(u32, u32)> {
    let frame = |line: &str| {
        let (before, place) = line.rsplit_once(SOURCE_NAME)?;
        if !before.ends_with([' ', '(']) {
            return None;
        }
        let mut numbers = place.strip_prefix(':')?.trim_end_matches(')').split(':');
        Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
    };
    stack.lines().find_map(frame)
}

fn shortened(text: &str) -> &str {
    text.get(..text.floor_char_boundary(TEXT_BYTES_MAX))
        .unwrap_or(text)
}
