//! Image: what the header of a picture says of it, its format and its size, and pictures in other sizes and formats.
//!
//! The header is read first, whatever is to become of the picture: how many pixels it has is known before any is decoded.

mod convert;
mod decode;
mod encode;
mod headers;
mod jpeg;
mod layout;
mod part;
mod pixels;
mod resize;

use super::file::file_value;
use super::parameters::{choice, text};
use super::text::value_or_input;
use super::zip::shared::{PIECE, asked};
use super::zip::source::Source;
use crate::node::{Context, Emission, NodeResult, Outcome, Stepping};
use convert::Conversion;
use heddle_values::{Object, Value};
use jpeg::Jpeg;
use part::Info;

/// The longest part of a header that is looked at by itself: a segment of a JPEG with its marker.
const PART_BYTES_MAX: usize = (64 << 10) + 2;

/// Asks for the first piece.
pub fn image(parameters: &Object, context: &mut dyn Context) -> NodeResult {
    let operation = choice(parameters, "operation", &["info", "convert"], "info")?;
    let (file, _) = file_value("value", &value_or_input(parameters, context))?;
    let name = match &file {
        Value::Object(file) => text(file, "name")?,
        _ => None,
    };
    let conversion = match operation {
        "convert" => Some(Conversion::of(parameters, context)?),
        _ => None,
    };
    let reading = Reading {
        conversion,
        name: name.unwrap_or_default(),
        source: Source::new(file),
        offset: 0,
        jpeg: None,
    };
    Box::new(reading).proceed()
}

struct Reading {
    /// What is to become of the picture; `None`: its header is all that is wanted.
    conversion: Option<Conversion>,
    /// The file's name.
    name: String,
    source: Source,
    /// Where what is looked at next begins.
    offset: u64,
    /// How far it is read, if it is one.
    jpeg: Option<Jpeg>,
}

impl Reading {
    fn proceed(mut self: Box<Self>) -> NodeResult {
        let info = loop {
            let Some(part) = self.source.at(self.offset, PART_BYTES_MAX) else {
                let request = self.source.request(self.offset);
                return asked(PIECE, request, self);
            };
            match &mut self.jpeg {
                Some(jpeg) => match jpeg.segment(part, self.offset)? {
                    jpeg::Next::At(offset) => self.offset = offset,
                    jpeg::Next::Info(info) => break info,
                },
                None if part.starts_with(&jpeg::START) => {
                    self.jpeg = Some(Jpeg::default());
                    self.offset = jpeg::START.len() as u64;
                }
                None => break headers::info(part)?,
            }
        };
        let Reading {
            conversion,
            name,
            source,
            ..
        } = *self;
        match conversion {
            Some(conversion) => conversion.begin(info, source, &name),
            None => Ok(Outcome::Emit(Emission::one(0, Value::Object(told(&info))))),
        }
    }
}

impl Stepping for Reading {
    fn resume(mut self: Box<Self>, result: Value, _: &mut dyn Context) -> NodeResult {
        self.source.fill(self.offset, &result)?;
        self.proceed()
    }
}

fn told(info: &Info) -> Object {
    let mut told = Object::from_iter([
        ("format", Value::from(info.format)),
        ("type", Value::from(format!("image/{}", info.format))),
        ("width", Value::Number(info.width.into())),
        ("height", Value::Number(info.height.into())),
    ]);
    if let Some(orientation) = info.orientation {
        told.insert("orientation", Value::Number(orientation.into()));
    }
    told
}
