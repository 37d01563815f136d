//! Pixels of 8 bits a channel: how they are turned, and laid over a colour. Knows nothing of formats.

/// A colour as red, green, blue and alpha.
pub(super) type Colour = [u8; 4];

/// A picture in memory.
pub(super) struct Pixels {
    pub width: usize,
    pub height: usize,
    /// 1: grey; 2: grey and alpha; 3: red, green and blue; 4: these and alpha.
    pub channels: usize,
    /// Row after row from the top, without gaps.
    pub bytes: Vec<u8>,
}

impl Pixels {
    pub fn has_alpha(&self) -> bool {
        self.channels.is_multiple_of(2)
    }

    pub fn row(&self, y: usize) -> &[u8] {
        let length = self.width * self.channels;
        self.bytes.get(y * length..(y + 1) * length).unwrap_or_default()
    }

    fn pixel(&self, x: usize, y: usize) -> &[u8] {
        let at = (y * self.width + x) * self.channels;
        self.bytes.get(at..at + self.channels).unwrap_or_default()
    }

    fn colour(&self, x: usize, y: usize) -> Colour {
        match *self.pixel(x, y) {
            [grey] => [grey, grey, grey, u8::MAX],
            [grey, alpha] => [grey, grey, grey, alpha],
            [red, green, blue] => [red, green, blue, u8::MAX],
            [red, green, blue, alpha] => [red, green, blue, alpha],
            _ => [0; 4],
        }
    }

    /// Turned as an orientation of Exif says, from 1 to 8.
    pub fn turned(self, orientation: u16) -> Self {
        if !(2..=8).contains(&orientation) {
            return self;
        }
        let (right, bottom) = (self.width.saturating_sub(1), self.height.saturating_sub(1));
        let (width, height) = match orientation {
            5..=8 => (self.height, self.width),
            _ => (self.width, self.height),
        };
        let mut bytes = Vec::with_capacity(self.bytes.len());
        for y in 0..height {
            for x in 0..width {
                let (from_x, from_y) = match orientation {
                    2 => (right - x, y),
                    3 => (right - x, bottom - y),
                    4 => (x, bottom - y),
                    5 => (y, x),
                    6 => (y, bottom - x),
                    7 => (right - y, bottom - x),
                    _ => (right - y, x),
                };
                bytes.extend_from_slice(self.pixel(from_x, from_y));
            }
        }
        Pixels {
            width,
            height,
            channels: self.channels,
            bytes,
        }
    }

    /// In the middle of a canvas of one colour, which is at least as large. Without alpha if the colour has none.
    pub fn over(&self, (width, height): (usize, usize), ground: Colour) -> Self {
        let left = width.saturating_sub(self.width) / 2;
        let top = height.saturating_sub(self.height) / 2;
        let channels = if ground.last() == Some(&u8::MAX) { 3 } else { 4 };
        let mut bytes = Vec::with_capacity(width * height * channels);
        for y in 0..height {
            for x in 0..width {
                let here = x.checked_sub(left).zip(y.checked_sub(top));
                let colour = match here.filter(|(x, y)| *x < self.width && *y < self.height) {
                    Some((x, y)) => blended(self.colour(x, y), ground),
                    None => ground,
                };
                bytes.extend(colour.into_iter().take(channels));
            }
        }
        Pixels {
            width,
            height,
            channels,
            bytes,
        }
    }
}

/// One colour over another.
fn blended(over: Colour, under: Colour) -> Colour {
    let [.., over_alpha] = over;
    let [.., under_alpha] = under;
    if over_alpha == u8::MAX {
        return over;
    }
    let share = f32::from(over_alpha) / 255.0;
    let rest = f32::from(under_alpha) / 255.0 * (1.0 - share);
    let alpha = share + rest;
    if alpha <= 0.0 {
        return [0; 4];
    }
    let mut mixed = [0; 4];
    for ((mixed, over), under) in mixed.iter_mut().zip(over).zip(under) {
        let value = (f32::from(over) * share + f32::from(under) * rest) / alpha;
        *mixed = (value + 0.5) as u8;
    }
    let [red, green, blue, _] = mixed;
    [red, green, blue, (alpha * 255.0 + 0.5) as u8]
}
