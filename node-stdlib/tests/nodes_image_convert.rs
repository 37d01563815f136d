//! Image: pictures of other programs in other sizes and formats, and those whose pixels are damaged or too many.

#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "support/files.rs"]
mod files;
#[expect(dead_code, reason = "other tests have more use for it")]
mod support;

use files::Host;
use heddle_values::{Object, Value};

/// Of 32 × 16 pixels: red and green above blue and white.
const TURNED: &[u8] = include_bytes!("pictures/turned.jpg");
const CMYK: &[u8] = include_bytes!("pictures/cmyk.jpg");
const GREY: &[u8] = include_bytes!("pictures/grey.jpg");
const LOSSY: &[u8] = include_bytes!("pictures/lossy.webp");
/// 4 × 2 pixels, red above blue, one pixel from the corner of a screen of 6 × 4.
const FRAME: &[u8] = include_bytes!("pictures/frame.gif");
/// A red pixel, and one that is transparent.
const PALETTE: &[u8] = include_bytes!("pictures/palette.png");

const RED: [u8; 4] = [255, 0, 0, 255];
const GREEN: [u8; 4] = [0, 255, 0, 255];
const BLUE: [u8; 4] = [0, 0, 255, 255];
const WHITE: [u8; 4] = [255; 4];
const NOTHING: [u8; 4] = [0; 4];

struct Picture {
    width: usize,
    height: usize,
    pixels: Vec<[u8; 4]>,
}

impl Picture {
    /// What a PNG shows.
    fn of(png: &[u8]) -> Self {
        let mut decoder = png::Decoder::new(std::io::Cursor::new(png));
        decoder.set_transformations(png::Transformations::normalize_to_color8());
        let mut reader = decoder.read_info().unwrap();
        let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
        let shown = reader.next_frame(&mut bytes).unwrap();
        let pixels = bytes
            .chunks_exact(shown.color_type.samples())
            .map(|pixel| match *pixel {
                [grey] => [grey, grey, grey, 255],
                [grey, alpha] => [grey, grey, grey, alpha],
                [red, green, blue] => [red, green, blue, 255],
                [red, green, blue, alpha] => [red, green, blue, alpha],
                _ => panic!("{pixel:?}"),
            });
        Picture {
            width: shown.width as usize,
            height: shown.height as usize,
            pixels: pixels.collect(),
        }
    }

    fn at(&self, x: usize, y: usize) -> [u8; 4] {
        self.pixels[y * self.width + x]
    }

    /// What is in the middle of its quarters, row by row.
    fn quarters(&self) -> [[u8; 4]; 4] {
        let (x, y) = (self.width / 4, self.height / 4);
        [(x, y), (x * 3, y), (x, y * 3), (x * 3, y * 3)].map(|(x, y)| self.at(x, y))
    }
}

/// A PNG of some colours.
fn png(width: u32, height: u32, colour: impl Fn(u32, u32) -> [u8; 4]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut encoder = png::Encoder::new(&mut out, width, height);
    encoder.set_color(png::ColorType::Rgba);
    encoder.set_depth(png::BitDepth::Eight);
    let places = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
    let bytes: Vec<u8> = places.flat_map(|(x, y)| colour(x, y)).collect();
    let mut writer = encoder.write_header().unwrap();
    writer.write_image_data(&bytes).unwrap();
    writer.finish().unwrap();
    out
}

/// The picture that comes of another, and its name; or why there is none.
fn made(file: &[u8], parameters: &str) -> Result<(Vec<u8>, String), String> {
    let mut host = Host::default();
    let file = host.add("holiday.photo.bmp", file.to_vec());
    let parameters = parameters.replacen('{', r#"{"operation": "convert", "#, 1);
    let parameters = parameters.replace(", }", "}");
    match host.run("Image", &parameters, file) {
        Ok(made) => {
            let Value::Object(fields) = &made else {
                panic!("{made:?}")
            };
            let name = text(fields, "name");
            Ok((host.content(&made).to_vec(), name))
        }
        Err(failure) => Err(format!("{}: {}", failure.code, failure.message)),
    }
}

fn text(object: &Object, name: &str) -> String {
    object.get(name).unwrap().to_text().to_utf8().into_owned()
}

fn as_png(file: &[u8], parameters: &str) -> Picture {
    let parameters = parameters.replacen('{', r#"{"format": "png", "#, 1);
    Picture::of(&made(file, &parameters).unwrap().0)
}

fn near(found: [[u8; 4]; 4], wanted: [[u8; 4]; 4]) {
    let pairs = found.into_iter().flatten().zip(wanted.into_iter().flatten());
    for (one, other) in pairs {
        assert!(one.abs_diff(other) <= 16, "{found:?} instead of {wanted:?}");
    }
}

#[test]
fn pictures_of_other_programs_are_read() {
    near(as_png(LOSSY, "{}").quarters(), [RED, GREEN, BLUE, WHITE]);
    near(as_png(CMYK, "{}").quarters(), [RED, GREEN, BLUE, WHITE]);
    let grey = |value| [value, value, value, 255];
    near(
        as_png(GREY, "{}").quarters(),
        [grey(76), grey(150), grey(29), WHITE],
    );
    let palette = as_png(PALETTE, "{}");
    assert_eq!(palette.at(0, 0), RED);
    assert_eq!(palette.at(1, 0)[3], 0);
    let frame = as_png(FRAME, "{}");
    assert_eq!((frame.width, frame.height), (6, 4));
    let column: Vec<[u8; 4]> = (0..4).map(|y| frame.at(1, y)).collect();
    assert_eq!(column, [NOTHING, RED, BLUE, NOTHING]);
    assert_eq!(
        (frame.at(0, 1), frame.at(4, 2), frame.at(5, 2)),
        (NOTHING, BLUE, NOTHING)
    );
}

#[test]
fn a_photo_is_turned_as_it_is_to_be_shown() {
    // As Exif writes it: an entry of one short number.
    let entry = b"\x01\x12\0\x03\0\0\0\x01\0";
    let place = TURNED.windows(entry.len()).position(|part| part == entry);
    let place = place.unwrap() + entry.len();
    for (orientation, shown) in (1..).zip([
        [RED, GREEN, BLUE, WHITE],
        [GREEN, RED, WHITE, BLUE],
        [WHITE, BLUE, GREEN, RED],
        [BLUE, WHITE, RED, GREEN],
        [RED, BLUE, GREEN, WHITE],
        [BLUE, RED, WHITE, GREEN],
        [WHITE, GREEN, BLUE, RED],
        [GREEN, WHITE, RED, BLUE],
    ]) {
        let mut photo = TURNED.to_vec();
        photo[place] = orientation;
        let (width, height) = if orientation > 4 { (16, 32) } else { (32, 16) };
        for scale in [1, 2] {
            let picture = as_png(&photo, &format!(r#"{{"width": {}}}"#, width / scale));
            assert_eq!((picture.width, picture.height), (width / scale, height / scale));
            near(picture.quarters(), shown);
        }
    }
}

#[test]
fn a_picture_gets_into_the_size_that_is_wanted() {
    let file = png(40, 20, |_, _| RED);
    for (parameters, size) in [
        ("{}", (40, 20)),
        (r#"{"width": 10}"#, (10, 5)),
        (r#"{"height": 40}"#, (80, 40)),
        (r#"{"height": 40, "withoutEnlargement": true}"#, (40, 20)),
        (r#"{"width": 10, "height": 10}"#, (10, 5)),
        (r#"{"width": 10, "height": 10, "fit": "contain"}"#, (10, 10)),
        (r#"{"width": 10, "height": 10, "fit": "cover"}"#, (10, 10)),
        (r#"{"width": 10, "height": 10, "fit": "fill"}"#, (10, 10)),
        (
            r#"{"width": 100, "height": 10, "fit": "cover", "withoutEnlargement": true}"#,
            (40, 10),
        ),
        (r#"{"width": 1, "height": 1}"#, (1, 1)),
    ] {
        let picture = as_png(&file, parameters);
        assert_eq!((picture.width, picture.height), size, "{parameters}");
    }
}

#[test]
fn what_covers_is_cut_and_what_is_contained_has_a_margin() {
    let file = png(40, 20, |x, _| match x {
        0..10 => BLUE,
        10..30 => RED,
        _ => GREEN,
    });
    let cut = as_png(&file, r#"{"width": 20, "height": 20, "fit": "cover"}"#);
    assert_eq!(cut.pixels, vec![RED; 400]);
    let within = as_png(&file, r#"{"width": 20, "height": 20, "fit": "contain"}"#);
    assert_eq!((within.at(10, 4), within.at(10, 15)), (NOTHING, NOTHING));
    assert_eq!((within.at(10, 5), within.at(10, 14)), (RED, RED));
    let on_grey = r##"{"width": 20, "height": 20, "fit": "contain", "background": "#888"}"##;
    assert_eq!(as_png(&file, on_grey).at(0, 0), [0x88, 0x88, 0x88, 255]);
    // One that is made smaller keeps its mean, and what is transparent adds no colour.
    let lines = png(64, 64, |x, _| if x % 2 == 0 { WHITE } else { [255, 0, 0, 0] });
    let mean = as_png(&lines, r#"{"width": 8}"#).at(4, 4);
    assert_eq!(mean[..3], [255; 3]);
    assert!(mean[3].abs_diff(128) <= 2, "{mean:?}");
}

#[test]
fn a_picture_becomes_one_of_another_format() {
    let file = png(300, 200, |x, y| {
        [(x % 256) as u8, y as u8, (x * y % 256) as u8, 255 - y as u8]
    });
    let (webp, name) = made(&file, r#"{"format": "webp"}"#).unwrap();
    assert_eq!(
        (&webp[8..12], name.as_str()),
        (&b"WEBP"[..], "holiday.photo.webp")
    );
    assert_eq!(as_png(&webp, "{}").pixels, Picture::of(&file).pixels);
    let (jpeg, name) = made(PALETTE, r#"{"format": "jpeg", "width": 32, "name": "a.jpeg"}"#).unwrap();
    assert_eq!((&jpeg[..2], name.as_str()), (&b"\xff\xd8"[..], "a.jpeg"));
    let jpeg = as_png(&jpeg, "{}");
    near([jpeg.at(2, 8), RED, jpeg.at(29, 8), RED], [RED, RED, WHITE, RED]);
    let on_blue = r##"{"format": "jpeg", "width": 32, "background": "#00f"}"##;
    let (jpeg, name) = made(PALETTE, on_blue).unwrap();
    assert_eq!(name, "holiday.photo.jpg");
    near([as_png(&jpeg, "{}").at(29, 8); 4], [BLUE; 4]);
    // A worse JPEG is a smaller one; a GIF becomes a PNG.
    let size = |quality: u8| {
        let parameters = format!(r#"{{"format": "jpeg", "quality": {quality}}}"#);
        made(&file, &parameters).unwrap().0.len()
    };
    assert!(size(20) < size(80) && size(80) < size(100));
    assert_eq!(made(FRAME, "{}").unwrap().1, "holiday.photo.png");
}

#[test]
fn too_many_pixels_and_damaged_ones_are_refused() {
    let mut vast = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
    vast.extend([0, 0, 0x80, 0, 0, 0, 0x80, 0, 8, 6, 0, 0, 0]);
    assert_eq!(
        made(&vast, "{}").unwrap_err(),
        "FILE_LIMIT: The picture has 32768 × 32768 pixels: at most 100 million are taken."
    );
    let long = png(1, 40, |_, _| RED);
    assert_eq!(
        made(&long, r#"{"width": 1000}"#).unwrap_err(),
        "FILE_LIMIT: The picture would have 1000 × 40000 pixels: at most 16383 on a side are made. Set `width` and `height`."
    );
    let whole = png(40, 40, |x, y| [x as u8, y as u8, (x * y % 256) as u8, 255]);
    for file in [&whole[..whole.len() / 2], &LOSSY[..40], &FRAME[..30]] {
        let why = made(file, "{}").unwrap_err();
        assert!(
            why.starts_with("PARSE: This ") && why.contains("can't be"),
            "{why}"
        );
    }
    assert_eq!(
        made(PALETTE, r#"{"background": "red"}"#).unwrap_err(),
        "PARAMETER: Parameter `background` takes white, black, transparent, or a colour as #rgb, #rrggbb or #rrggbbaa, but it is the string \"red\"."
    );
}
