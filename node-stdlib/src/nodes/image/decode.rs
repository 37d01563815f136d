//! Pictures to pixels, of the formats that `headers` and `jpeg` tell. Of what moves, the first frame.
//!
//! Before anything is decoded there is room for all of its pixels, or the run has too little memory for them and ends.

use super::layout::room;
use super::part::{Info, broken};
use super::pixels::Pixels;
use crate::failure::Failure;
use gif::{ColorOutput, DecodeOptions, MemoryLimit};
use image_webp::WebPDecoder;
use png::Transformations;
use std::fmt::Display;
use std::io::Cursor;
use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

/// Scans of a progressive JPEG: each goes over all pixels again, and encoders write about ten.
const SCANS_MAX: usize = 64;
/// Channels of what a GIF shows.
const RGBA: usize = 4;

/// The pixels of a picture with this header.
pub(super) fn decoded(info: &Info, bytes: &[u8]) -> Result<Pixels, Failure> {
    let pixels = match info.format {
        "png" => of_png(bytes)?,
        "jpeg" => of_jpeg(bytes)?,
        "gif" => of_gif(bytes)?,
        _ => of_webp(bytes)?,
    };
    let length = pixels.width * pixels.height * pixels.channels;
    match (pixels.width, pixels.height) == info.size() && pixels.bytes.len() == length {
        true => Ok(pixels),
        false => Err(broken(
            info.name(),
            "its pixels have another size than its header says",
        )),
    }
}

fn damaged<E: Display>(format: &'static str) -> impl Fn(E) -> Failure {
    move |error| broken(format, &format!("its pixels can't be decoded ({error})"))
}

fn of_png(bytes: &[u8]) -> Result<Pixels, Failure> {
    let mut decoder = png::Decoder::new(Cursor::new(bytes));
    decoder.set_ignore_text_chunk(true);
    decoder.set_ignore_iccp_chunk(true);
    decoder.set_transformations(Transformations::normalize_to_color8());
    let mut reader = decoder.read_info().map_err(damaged("PNG"))?;
    let (width, height) = reader.info().size();
    let (width, height) = (width as usize, height as usize);
    room((width, height))?;
    let (colours, _) = reader.output_color_type();
    let size = reader.output_buffer_size().unwrap_or_default();
    let mut bytes = vec![0; size];
    reader.next_frame(&mut bytes).map_err(damaged("PNG"))?;
    Ok(Pixels {
        width,
        height,
        channels: colours.samples(),
        bytes,
    })
}

fn of_jpeg(bytes: &[u8]) -> Result<Pixels, Failure> {
    let side_max = usize::from(u16::MAX);
    let options = DecoderOptions::default()
        .set_max_width(side_max)
        .set_max_height(side_max)
        .jpeg_set_max_scans(SCANS_MAX)
        .jpeg_set_out_colorspace(ColorSpace::RGB);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(bytes), options);
    decoder.decode_headers().map_err(damaged("JPEG"))?;
    let info = decoder
        .info()
        .ok_or_else(|| broken("JPEG", "it ends before its pixels"))?;
    let (width, height) = (usize::from(info.width), usize::from(info.height));
    room((width, height))?;
    Ok(Pixels {
        width,
        height,
        channels: 3,
        bytes: decoder.decode().map_err(damaged("JPEG"))?,
    })
}

fn of_webp(bytes: &[u8]) -> Result<Pixels, Failure> {
    let mut decoder = WebPDecoder::new(Cursor::new(bytes)).map_err(damaged("WebP"))?;
    let (width, height) = decoder.dimensions();
    let (width, height) = (width as usize, height as usize);
    room((width, height))?;
    let mut bytes = vec![0; decoder.output_buffer_size().unwrap_or_default()];
    decoder.read_image(&mut bytes).map_err(damaged("WebP"))?;
    Ok(Pixels {
        width,
        height,
        channels: if decoder.has_alpha() { 4 } else { 3 },
        bytes,
    })
}

/// The first frame, where it is on the screen of the GIF; what it leaves free is transparent.
fn of_gif(bytes: &[u8]) -> Result<Pixels, Failure> {
    let mut options = DecodeOptions::new();
    options.set_color_output(ColorOutput::RGBA);
    // A frame is at most as large as what is looked at below.
    options.set_memory_limit(MemoryLimit::Unlimited);
    let mut decoder = options.read_info(bytes).map_err(damaged("GIF"))?;
    let (width, height) = (usize::from(decoder.width()), usize::from(decoder.height()));
    room((width, height))?;
    let frame = decoder.next_frame_info().map_err(damaged("GIF"))?;
    let Some(frame) = frame else {
        return Err(broken("GIF", "it has no picture"));
    };
    let (frame_width, frame_height) = (usize::from(frame.width), usize::from(frame.height));
    room((frame_width, frame_height))?;
    let (left, top) = (usize::from(frame.left), usize::from(frame.top));
    let mut shown = vec![0; decoder.buffer_size()];
    decoder.read_into_buffer(&mut shown).map_err(damaged("GIF"))?;
    let is_all = (left, top, frame_width, frame_height) == (0, 0, width, height);
    let bytes = match is_all {
        true => shown,
        false => placed(&shown, (left, top, frame_width), (width, height)),
    };
    Ok(Pixels {
        width,
        height,
        channels: RGBA,
        bytes,
    })
}

/// A screen of RGBA with a frame at its place, of which what is outside is cut off.
fn placed(
    frame: &[u8],
    (left, top, frame_width): (usize, usize, usize),
    (width, height): (usize, usize),
) -> Vec<u8> {
    let mut bytes = vec![0; width * height * RGBA];
    let fits = frame_width.min(width.saturating_sub(left)) * RGBA;
    if fits == 0 {
        return bytes;
    }
    let lines = bytes.chunks_exact_mut(width * RGBA).skip(top);
    for (line, row) in lines.zip(frame.chunks_exact(frame_width * RGBA)) {
        let place = line.iter_mut().skip(left * RGBA);
        for (to, from) in place.zip(row.iter().take(fits)) {
            *to = *from;
        }
    }
    bytes
}
