//! A picture in another size or format: read whole, decoded, drawn, and written piece by piece.

use super::decode::decoded;
use super::encode::{Format, encoded};
use super::layout::{Fit, Layout, SIDE_MAX, Wanted, room};
use super::part::Info;
use super::pixels::{Colour, Pixels};
use super::resize::resized;
use crate::failure::Failure;
use crate::node::{Context, Emission, NodeResult, Outcome, Stepping};
use crate::nodes::file::FILE;
use crate::nodes::parameters::{boolean, choice, given, integer, mismatch, text};
use crate::nodes::zip::shared::{PIECE, PIECE_BYTES, asked, sink_request};
use crate::nodes::zip::source::Source;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use heddle_values::{Object, Value};

/// Bytes of a file.
const BYTES_MAX: u64 = 64 << 20;
/// From 1 to 100.
const QUALITY: u8 = 80;
const WHITE: Colour = [u8::MAX; 4];
const TRANSPARENT: Colour = [0; 4];

/// What is to become of a picture.
pub(super) struct Conversion {
    wanted: Wanted,
    format: Option<Format>,
    quality: u8,
    background: Option<Colour>,
    name: Option<String>,
    /// What the host calls the file that is being written.
    sink: String,
}

impl Conversion {
    pub fn of(parameters: &Object, context: &mut dyn Context) -> Result<Self, Failure> {
        let side = |name: &str| -> Result<Option<usize>, Failure> {
            let side = integer(parameters, name, 1, SIDE_MAX as i64)?;
            Ok(side.map(|side| side as usize))
        };
        let fits = ["inside", "cover", "contain", "fill"];
        let fit = match choice(parameters, "fit", &fits, "inside")? {
            "cover" => Fit::Cover,
            "contain" => Fit::Contain,
            "fill" => Fit::Fill,
            _ => Fit::Inside,
        };
        let format = match given(parameters, "format") {
            Some(_) => Some(Format::of(choice(parameters, "format", Format::NAMES, "png")?)),
            None => None,
        };
        let quality = integer(parameters, "quality", 1, 100)?;
        Ok(Conversion {
            wanted: Wanted {
                width: side("width")?,
                height: side("height")?,
                fit,
                may_enlarge: !boolean(parameters, "withoutEnlargement", false)?,
            },
            format,
            quality: quality.map_or(QUALITY, |quality| quality as u8),
            background: background(parameters)?,
            name: text(parameters, "name")?,
            sink: context.execution_key(),
        })
    }

    /// Reads the file, of which the header is known; `name`: the file's own.
    pub fn begin(self, info: Info, source: Source, name: &str) -> NodeResult {
        room(info.size())?;
        let layout = Layout::of(shown(&info), &self.wanted)?;
        let format = self.format.unwrap_or_else(|| Format::of(info.format));
        let name = self.name.clone().unwrap_or_else(|| {
            let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
            let stem = if stem.is_empty() { "image" } else { stem };
            format!("{stem}.{}", format.ending())
        });
        let size = source.size().unwrap_or_default().min(BYTES_MAX);
        let loading = Loading {
            conversion: self,
            info,
            layout,
            format,
            name,
            source,
            bytes: Vec::with_capacity(size as usize),
        };
        Box::new(loading).proceed()
    }

    /// The picture as it is to be.
    fn picture(
        &self,
        info: &Info,
        layout: Layout,
        format: Format,
        file: Vec<u8>,
    ) -> Result<Vec<u8>, Failure> {
        // What a step has no more use for makes room for the next one.
        let mut pixels = decoded(info, &file)?;
        drop(file);
        // Drawn as it is stored, and turned when it has its size: that is less to turn.
        let stored = match info.is_transposed() {
            true => layout.transposed(),
            false => layout,
        };
        if !stored.is_plain(info.size()) {
            pixels = resized(&pixels, stored.region, stored.size);
        }
        pixels = pixels.turned(info.orientation.unwrap_or(1));
        if let Some(ground) = self.ground(&pixels, layout, format) {
            pixels = pixels.over(layout.canvas, ground);
        }
        encoded(&pixels, format, self.quality)
    }

    /// What the picture is laid over, if anything of that is seen.
    fn ground(&self, pixels: &Pixels, layout: Layout, format: Format) -> Option<Colour> {
        let is_jpeg = format == Format::Jpeg;
        let is_seen = pixels.has_alpha() && (is_jpeg || self.background.is_some());
        if !is_seen && layout.size == layout.canvas {
            return None;
        }
        Some(match (self.background, is_jpeg) {
            (Some([red, green, blue, _]), true) => [red, green, blue, u8::MAX],
            (Some(colour), false) => colour,
            (None, true) => WHITE,
            (None, false) => TRANSPARENT,
        })
    }
}

/// The size in which a picture is shown.
fn shown(info: &Info) -> (usize, usize) {
    let (width, height) = info.size();
    match info.is_transposed() {
        true => (height, width),
        false => (width, height),
    }
}

fn background(parameters: &Object) -> Result<Option<Colour>, Failure> {
    let Some(colour) = text(parameters, "background")? else {
        return Ok(None);
    };
    let parsed = match colour.as_str() {
        "white" => Some(WHITE),
        "black" => Some([0, 0, 0, u8::MAX]),
        "transparent" => Some(TRANSPARENT),
        hex => hex.strip_prefix('#').and_then(parsed),
    };
    parsed.map(Some).ok_or_else(|| {
        let takes = "white, black, transparent, or a colour as #rgb, #rrggbb or #rrggbbaa";
        mismatch("background", takes, &Value::from(colour.as_str()))
    })
}

/// A colour in hexadecimal digits.
fn parsed(hex: &str) -> Option<Colour> {
    if !hex.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let number = u32::from_str_radix(hex, 16).ok()?;
    match hex.len() {
        3 => {
            let digit = |shift: u32| (number >> shift & 15) as u8 * 17;
            Some([digit(8), digit(4), digit(0), u8::MAX])
        }
        6 => Some((number << 8 | 255).to_be_bytes()),
        8 => Some(number.to_be_bytes()),
        _ => None,
    }
}

/// Reads the file into memory.
struct Loading {
    conversion: Conversion,
    info: Info,
    layout: Layout,
    format: Format,
    name: String,
    source: Source,
    bytes: Vec<u8>,
}

impl Loading {
    fn proceed(mut self: Box<Self>) -> NodeResult {
        self.source.within("The picture's file", BYTES_MAX)?;
        if let Some(offset) = self.source.add_to(&mut self.bytes) {
            let request = self.source.request(offset);
            return asked(PIECE, request, self);
        }
        let Loading {
            conversion,
            info,
            layout,
            format,
            name,
            bytes,
            ..
        } = *self;
        let bytes = conversion.picture(&info, layout, format, bytes)?;
        let writing = Writing {
            bytes,
            at: 0,
            asked: 0,
            name,
            media_type: format.media_type(),
            sink: conversion.sink,
        };
        Box::new(writing).proceed()
    }
}

impl Stepping for Loading {
    fn resume(mut self: Box<Self>, result: Value, _: &mut dyn Context) -> NodeResult {
        let there = self.bytes.len() as u64;
        self.source.fill(there, &result)?;
        self.proceed()
    }
}

/// Hands the picture to the host.
struct Writing {
    bytes: Vec<u8>,
    /// Bytes that are written.
    at: usize,
    /// Bytes that the host was asked to write; none: it was asked for the file.
    asked: usize,
    name: String,
    media_type: &'static str,
    sink: String,
}

impl Writing {
    fn proceed(mut self: Box<Self>) -> NodeResult {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let piece = rest.get(..PIECE_BYTES).unwrap_or(rest);
        let named = (self.name.as_str(), self.media_type);
        let request = |operation| sink_request(operation, &self.sink, self.at as u64, named);
        let (kind, request) = match piece.is_empty() {
            true => (FILE, request("finish")),
            false => {
                let mut request = request("write");
                request.insert("base64", Value::from(STANDARD.encode(piece)));
                (PIECE, request)
            }
        };
        let asked_for = piece.len();
        self.asked = asked_for;
        asked(kind, request, self)
    }
}

impl Stepping for Writing {
    fn resume(mut self: Box<Self>, result: Value, _: &mut dyn Context) -> NodeResult {
        if self.asked == 0 {
            return Ok(Outcome::Emit(Emission::one(0, result)));
        }
        self.at += self.asked;
        self.proceed()
    }
}
