//! Pictures in other sizes: each pixel is the weighted mean (Lanczos, 3 lobes) of those that it covers.
//!
//! What is transparent adds no colour. Of the result, one line of the picture is in memory besides the pixels themselves.

use super::layout::Region;
use super::pixels::Pixels;
use std::f64::consts::PI;

/// How far a pixel reaches on each side, in pixels of the coarser of both pictures.
const LOBES: f64 = 3.0;

/// What becomes one row or column: as many of those that there are, from the first on, as there are weights.
struct Weights {
    first: usize,
    weights: Vec<f32>,
}

/// A part of the picture in another size.
pub(super) fn resized(pixels: &Pixels, region: Region, (width, height): (usize, usize)) -> Pixels {
    let channels = pixels.channels;
    let across: Vec<Weights> = (0..width)
        .map(|x| weights(pixels.width, (region.left, region.width), (x, width)))
        .collect();
    let mut bytes = Vec::with_capacity(width * height * channels);
    let mut line = vec![0.0_f32; pixels.width * channels];
    for y in 0..height {
        line.fill(0.0);
        let down = weights(pixels.height, (region.top, region.height), (y, height));
        for (row, weight) in (down.first..).zip(&down.weights) {
            add(&mut line, pixels.row(row), *weight, channels);
        }
        for one in &across {
            put(&mut bytes, &line, one, channels);
        }
    }
    Pixels {
        width,
        height,
        channels,
        bytes,
    }
}

/// What becomes row or column number `at` of `count`, of a part of those that there are.
fn weights(length: usize, (from, extent): (f64, f64), (at, count): (usize, usize)) -> Weights {
    let scale = extent / count as f64;
    let stretch = scale.max(1.0);
    let centre = from + (at as f64 + 0.5) * scale;
    let first = (centre - LOBES * stretch).floor().max(0.0) as usize;
    let end = ((centre + LOBES * stretch).ceil() as usize).min(length);
    let shares: Vec<f64> = (first..end)
        .map(|place| lanczos((place as f64 + 0.5 - centre) / stretch))
        .collect();
    let sum: f64 = shares.iter().sum();
    Weights {
        first,
        weights: shares.iter().map(|share| (*share / sum) as f32).collect(),
    }
}

fn lanczos(x: f64) -> f64 {
    if x.abs() < 1e-9 {
        return 1.0;
    }
    if x.abs() >= LOBES {
        return 0.0;
    }
    let x = PI * x;
    LOBES * x.sin() * (x / LOBES).sin() / (x * x)
}

/// Adds a row's share to a line. Colours count as much as they are seen.
fn add(line: &mut [f32], row: &[u8], weight: f32, channels: usize) {
    if !channels.is_multiple_of(2) {
        for (sum, value) in line.iter_mut().zip(row) {
            *sum += weight * f32::from(*value);
        }
        return;
    }
    for (sums, pixel) in line.chunks_exact_mut(channels).zip(row.chunks_exact(channels)) {
        let (Some((alpha_sum, sums)), Some((alpha, colours))) = (sums.split_last_mut(), pixel.split_last())
        else {
            continue;
        };
        let share = weight * f32::from(*alpha);
        *alpha_sum += share;
        for (sum, value) in sums.iter_mut().zip(colours) {
            *sum += share / 255.0 * f32::from(*value);
        }
    }
}

/// Makes a pixel of those of a line.
fn put(out: &mut Vec<u8>, line: &[f32], across: &Weights, channels: usize) {
    let mut sums = [0.0_f32; 4];
    let from = line.get(across.first * channels..).unwrap_or_default();
    for (pixel, weight) in from.chunks_exact(channels).zip(&across.weights) {
        for (sum, value) in sums.iter_mut().zip(pixel) {
            *sum += *weight * *value;
        }
    }
    let sums = sums.get(..channels).unwrap_or_default();
    // A cast keeps to 0 and 255, which the lobes overshoot.
    match sums.split_last() {
        Some((alpha, colours)) if channels.is_multiple_of(2) => {
            let shown = if *alpha > 0.0 { 255.0 / *alpha } else { 0.0 };
            out.extend(colours.iter().map(|sum| (*sum * shown + 0.5) as u8));
            out.push((*alpha + 0.5) as u8);
        }
        _ => out.extend(sums.iter().map(|sum| (*sum + 0.5) as u8)),
    }
}
