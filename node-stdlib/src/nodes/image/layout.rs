//! Which part of a picture is drawn in which size. Knows nothing of pixels.

use crate::failure::Failure;
use heddle_contract::abi::code;

/// Pixels of a picture.
const PIXELS_MAX: usize = 100_000_000;
/// Pixels on a side of a picture that is made: what WebP has room for.
pub(super) const SIDE_MAX: usize = 16_383;

/// How a picture gets into a width and a height.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fit {
    /// It is as large as it can be within them.
    Inside,
    /// It fills them; what is beyond them is cut off on both sides.
    Cover,
    /// As `Inside`, with a margin up to their size.
    Contain,
    /// It is stretched to them.
    Fill,
}

/// What size is wanted.
pub(super) struct Wanted {
    pub width: Option<usize>,
    pub height: Option<usize>,
    pub fit: Fit,
    pub may_enlarge: bool,
}

/// A part of a picture, in its pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Region {
    pub left: f64,
    pub top: f64,
    pub width: f64,
    pub height: f64,
}

/// What is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Layout {
    pub region: Region,
    /// The size in which that part is drawn.
    pub size: (usize, usize),
    /// The size of the whole, in the middle of which it is drawn.
    pub canvas: (usize, usize),
}

impl Layout {
    /// Of a picture of this size.
    pub fn of((width, height): (usize, usize), wanted: &Wanted) -> Result<Self, Failure> {
        let (w, h) = (width as f64, height as f64);
        let scale = |side: usize, of: f64| side as f64 / of;
        let (x, y) = match (wanted.width, wanted.height) {
            (None, None) => (1.0, 1.0),
            (Some(width), None) => (scale(width, w), scale(width, w)),
            (None, Some(height)) => (scale(height, h), scale(height, h)),
            (Some(width), Some(height)) => {
                let (x, y) = (scale(width, w), scale(height, h));
                match wanted.fit {
                    Fit::Inside | Fit::Contain => (x.min(y), x.min(y)),
                    Fit::Cover => (x.max(y), x.max(y)),
                    Fit::Fill => (x, y),
                }
            }
        };
        let most = if wanted.may_enlarge { f64::INFINITY } else { 1.0 };
        let (x, y) = (x.min(most), y.min(most));
        let drawn = (side(w * x), side(h * y));
        let whole = Region {
            left: 0.0,
            top: 0.0,
            width: w,
            height: h,
        };
        let layout = match (wanted.fit, wanted.width.zip(wanted.height)) {
            (Fit::Contain, Some(canvas)) => Layout {
                region: whole,
                size: drawn,
                canvas,
            },
            (Fit::Cover, Some((width, height))) => {
                let size = (width.min(drawn.0), height.min(drawn.1));
                let (width, height) = ((size.0 as f64 / x).min(w), (size.1 as f64 / y).min(h));
                let region = Region {
                    left: (w - width) / 2.0,
                    top: (h - height) / 2.0,
                    width,
                    height,
                };
                Layout {
                    region,
                    size,
                    canvas: size,
                }
            }
            _ => Layout {
                region: whole,
                size: drawn,
                canvas: drawn,
            },
        };
        layout.check()
    }

    fn check(self) -> Result<Self, Failure> {
        let (width, height) = self.canvas;
        if width > SIDE_MAX || height > SIDE_MAX {
            let message = format!(
                "The picture would have {width} × {height} pixels: at most {SIDE_MAX} on a side are made. Set `width` and `height`."
            );
            return Err(Failure::new(code::FILE_LIMIT, message));
        }
        room((width, height))?;
        Ok(self)
    }

    /// The same for a picture whose rows are columns.
    pub fn transposed(self) -> Self {
        let swapped = |(one, other)| (other, one);
        Layout {
            region: Region {
                left: self.region.top,
                top: self.region.left,
                width: self.region.height,
                height: self.region.width,
            },
            size: swapped(self.size),
            canvas: swapped(self.canvas),
        }
    }

    /// Whether a picture of this size is drawn as it is.
    pub fn is_plain(&self, size: (usize, usize)) -> bool {
        self.size == size && (self.region.width, self.region.height) == (size.0 as f64, size.1 as f64)
    }
}

fn side(length: f64) -> usize {
    length.round().max(1.0) as usize
}

/// Refuses a picture of more pixels than are taken.
pub(super) fn room((width, height): (usize, usize)) -> Result<(), Failure> {
    if width.saturating_mul(height) <= PIXELS_MAX {
        return Ok(());
    }
    let message = format!(
        "The picture has {width} × {height} pixels: at most {} million are taken.",
        PIXELS_MAX / 1_000_000
    );
    Err(Failure::new(code::FILE_LIMIT, message))
}
