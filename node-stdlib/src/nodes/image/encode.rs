//! Pixels to pictures: PNG, JPEG (baseline) and WebP (lossless).

use super::pixels::Pixels;
use crate::failure::Failure;
use heddle_contract::abi::code;
use image_webp::WebPEncoder;
use jpeg_encoder::{ImageBuffer, JpegColorType, rgb_to_ycbcr};
use std::fmt::Display;

/// What a picture becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Png,
    Jpeg,
    WebP,
}

impl Format {
    pub const NAMES: &[&str] = &["png", "jpeg", "webp"];

    /// Of one that is called so; what can't be written becomes a PNG.
    pub fn of(name: &str) -> Self {
        match name {
            "jpeg" => Format::Jpeg,
            "webp" => Format::WebP,
            _ => Format::Png,
        }
    }

    pub fn ending(self) -> &'static str {
        match self {
            Format::Png => "png",
            Format::Jpeg => "jpg",
            Format::WebP => "webp",
        }
    }

    pub fn media_type(self) -> &'static str {
        match self {
            Format::Png => "image/png",
            Format::Jpeg => "image/jpeg",
            Format::WebP => "image/webp",
        }
    }
}

/// A picture of these pixels; for a JPEG they are without alpha.
pub(super) fn encoded(pixels: &Pixels, format: Format, quality: u8) -> Result<Vec<u8>, Failure> {
    let mut out = Vec::new();
    let (width, height) = (pixels.width as u32, pixels.height as u32);
    match format {
        Format::Png => {
            let mut encoder = png::Encoder::new(&mut out, width, height);
            encoder.set_color(match pixels.channels {
                1 => png::ColorType::Grayscale,
                2 => png::ColorType::GrayscaleAlpha,
                3 => png::ColorType::Rgb,
                _ => png::ColorType::Rgba,
            });
            encoder.set_depth(png::BitDepth::Eight);
            let mut writer = encoder.write_header().map_err(impossible)?;
            writer.write_image_data(&pixels.bytes).map_err(impossible)?;
            writer.finish().map_err(impossible)?;
        }
        Format::Jpeg => {
            let encoder = jpeg_encoder::Encoder::new(&mut out, quality);
            encoder.encode_image(Rows(pixels)).map_err(impossible)?;
        }
        Format::WebP => {
            let colours = match pixels.channels {
                1 => image_webp::ColorType::L8,
                2 => image_webp::ColorType::La8,
                3 => image_webp::ColorType::Rgb8,
                _ => image_webp::ColorType::Rgba8,
            };
            WebPEncoder::new(&mut out)
                .encode(&pixels.bytes, width, height, colours)
                .map_err(impossible)?;
        }
    }
    Ok(out)
}

/// Pixels as the encoder of JPEG takes them. Its own forms of them are nine encoders in the guest; this is one.
struct Rows<'p>(&'p Pixels);

impl ImageBuffer for Rows<'_> {
    fn get_jpeg_color_type(&self) -> JpegColorType {
        match self.0.channels {
            1 => JpegColorType::Luma,
            _ => JpegColorType::Ycbcr,
        }
    }

    fn width(&self) -> u16 {
        self.0.width as u16
    }

    fn height(&self) -> u16 {
        self.0.height as u16
    }

    fn fill_buffers(&self, y: u16, buffers: &mut [Vec<u8>; 4]) {
        let [first, second, third, _] = buffers;
        for pixel in self.0.row(usize::from(y)).chunks_exact(self.0.channels) {
            match *pixel {
                [red, green, blue] => {
                    let (luma, blueness, redness) = rgb_to_ycbcr(red, green, blue);
                    first.push(luma);
                    second.push(blueness);
                    third.push(redness);
                }
                [grey, ..] => first.push(grey),
                [] => {}
            }
        }
    }
}

fn impossible(error: impl Display) -> Failure {
    Failure::new(code::INTERNAL, format!("The picture can't be written: {error}."))
}
