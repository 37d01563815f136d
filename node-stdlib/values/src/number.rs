//! Numbers as text and back, as ECMAScript's Number::toString and StringToNumber do, and as 32-bit integers.

/// A number as JavaScript writes it.
pub fn number_to_text(number: f64) -> String {
    let mut text = String::new();
    write_number(number, &mut text);
    text
}

/// Appends a number as JavaScript writes it.
pub(super) fn write_number(number: f64, out: &mut String) {
    let integer = number as i32;
    // Most numbers are small integers or have few decimals, and need no search for the shortest digits. -0 is
    // written as 0.
    if f64::from(integer) == number {
        out.push_str(itoa::Buffer::new().format(integer));
    } else if !write_short_decimal(number, out) {
        out.push_str(ryu_js::Buffer::new().format(number));
    }
}

/// Writes a number that is a decimal of at most four places and 15 digits. Two such decimals are never the same
/// double, so this one is the shortest that reads as it.
fn write_short_decimal(number: f64, out: &mut String) -> bool {
    const SCALE: f64 = 10_000.0;
    const MAGNITUDE_MAX: f64 = 1e11;
    let scaled = (number.abs() * SCALE).round();
    if number.abs() >= MAGNITUDE_MAX || scaled / SCALE != number.abs() {
        return false;
    }
    if number < 0.0 {
        out.push('-');
    }
    let (whole, fraction) = (scaled as u64 / 10_000, scaled as u64 % 10_000);
    out.push_str(itoa::Buffer::new().format(whole));
    if fraction == 0 {
        return true;
    }
    out.push('.');
    let mut rest = fraction;
    let mut place = 1_000;
    while rest > 0 {
        out.push(char::from(b'0' + (rest / place) as u8));
        rest %= place;
        place /= 10;
    }
    true
}

/// The digits that a number is written with, from the first one that is not 0 to the last one, and where the point stands
/// among them: before them at 0. Of 0, there are none.
pub(super) fn decimal(magnitude: f64) -> (String, i32) {
    let text = number_to_text(magnitude);
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text.as_str(), "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = format!("{whole}{fraction}");
    let digits = all.trim_start_matches('0');
    let zeros = all.len() - digits.len();
    let point = whole.len() as i32 + exponent - zeros as i32;
    (digits.trim_end_matches('0').to_owned(), point)
}

/// A double holds every whole number of so many digits exactly.
const EXACT_DIGITS_MAX: usize = 15;
const POWERS: [f64; EXACT_DIGITS_MAX + 1] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
];

/// The double nearest to the decimal that a text begins with, and its length: digits, perhaps with a point and a minus.
/// `None` where there is none, or more digits than a double holds exactly: digits and power of ten must both be exact, so
/// that the division rounds once. Source: Clinger, "How to Read Floating Point Numbers Accurately" (1990).
pub(super) fn short_decimal(text: &[u8]) -> Option<(f64, usize)> {
    let sign = usize::from(text.first() == Some(&b'-'));
    let (mut digits, mut count, mut fraction, mut has_point) = (0_u64, 0, 0, false);
    for byte in text.iter().skip(sign) {
        match byte {
            b'0'..=b'9' => {
                if count == EXACT_DIGITS_MAX {
                    return None;
                }
                digits = digits * 10 + u64::from(byte - b'0');
                count += 1;
                fraction += usize::from(has_point);
            }
            b'.' if !has_point => has_point = true,
            _ => break,
        }
    }
    if count == 0 {
        return None;
    }
    let magnitude = digits as f64 / POWERS[fraction];
    let number = if sign == 1 { -magnitude } else { magnitude };
    Some((number, sign + count + usize::from(has_point)))
}

/// The number that begins at a position of a JSON text, and the position after it: a decimal of at most 15 digits without an
/// exponent. `None` for others, and where there is no number. As [`short_decimal`].
pub(super) fn json_decimal(text: &[u8], start: usize) -> Option<(f64, usize)> {
    // Of one digit.
    if let Some([digit @ b'0'..=b'9', b',' | b'}' | b']', ..]) = text.get(start..) {
        return Some((f64::from(digit - b'0'), start + 1));
    }
    let first = start + usize::from(text.get(start) == Some(&b'-'));
    let mut digits = 0;
    let mut at = after_digits(text, first, &mut digits);
    let whole = at - first;
    let mut fraction = 0;
    if text.get(at) == Some(&b'.') {
        let point = at;
        at = after_digits(text, point + 1, &mut digits);
        fraction = at - point - 1;
        if fraction == 0 {
            return None;
        }
    }
    let has_leading_zero = whole > 1 && text.get(first) == Some(&b'0');
    if whole == 0 || has_leading_zero || matches!(text.get(at), Some(b'e' | b'E')) {
        return None;
    }
    if whole + fraction > EXACT_DIGITS_MAX {
        return None;
    }
    let magnitude = match fraction {
        0 => digits as f64,
        _ => digits as f64 / POWERS[fraction],
    };
    Some((if first == start { magnitude } else { -magnitude }, at))
}

/// The position after the digits, which are appended to a number; it is right only if they are few.
#[inline]
fn after_digits(text: &[u8], mut at: usize, number: &mut u64) -> usize {
    while let Some(byte) = text.get(at) {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        *number = number.wrapping_mul(10).wrapping_add(digit.into());
        at += 1;
    }
    at
}

/// JavaScript's `Number(text)`.
pub fn text_to_number(text: &str) -> f64 {
    if let Some((number, length)) = short_decimal(text.as_bytes())
        && length == text.len()
    {
        return number;
    }
    let text = text.trim_matches(is_space);
    match text.as_bytes() {
        [] => 0.0,
        [b'0', b'x' | b'X', digits @ ..] => integer_of_digits(digits, 16),
        [b'0', b'o' | b'O', digits @ ..] => integer_of_digits(digits, 8),
        [b'0', b'b' | b'B', digits @ ..] => integer_of_digits(digits, 2),
        bytes => {
            let unsigned = bytes
                .strip_prefix(b"-")
                .or(bytes.strip_prefix(b"+"))
                .unwrap_or(bytes);
            match unsigned {
                b"Infinity" if bytes[0] == b'-' => f64::NEG_INFINITY,
                b"Infinity" => f64::INFINITY,
                _ if is_decimal(unsigned) => text.parse().unwrap_or(f64::NAN),
                _ => f64::NAN,
            }
        }
    }
}

/// ECMAScript's WhiteSpace and LineTerminator.
pub(super) fn is_space(character: char) -> bool {
    character == '\u{feff}' || (character.is_whitespace() && character != '\u{85}')
}

/// StrUnsignedDecimalLiteral without `Infinity`. Rust's parser reads more than that (`inf`, `nan`).
fn is_decimal(bytes: &[u8]) -> bool {
    let digits = |bytes: &[u8]| bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let whole = digits(bytes);
    let mut rest = &bytes[whole..];
    let mut fraction = 0;
    if let [b'.', after @ ..] = rest {
        fraction = digits(after);
        rest = &after[fraction..];
    }
    if whole + fraction == 0 {
        return false;
    }
    match rest {
        [] => true,
        [b'e' | b'E', b'+' | b'-', exponent @ ..] | [b'e' | b'E', exponent @ ..] => {
            !exponent.is_empty() && digits(exponent) == exponent.len()
        }
        _ => false,
    }
}

/// The integer that digits spell in a radix of 2, 8 or 16, rounded to nearest, ties to even.
fn integer_of_digits(digits: &[u8], radix: u32) -> f64 {
    if digits.is_empty() {
        return f64::NAN;
    }
    let bits = radix.trailing_zeros();
    let (mut mantissa, mut exponent) = (0_u64, 0_i32);
    for &digit in digits {
        let Some(digit) = char::from(digit).to_digit(radix) else {
            return f64::NAN;
        };
        if mantissa >> (64 - bits) == 0 {
            mantissa = mantissa << bits | u64::from(digit);
        } else {
            // At least 60 bits are held: of what follows it matters only whether it is zero.
            mantissa |= u64::from(digit != 0);
            exponent = exponent.saturating_add(bits.cast_signed());
        }
    }
    mantissa as f64 * 2_f64.powi(exponent)
}

/// ECMAScript's ToInt32.
pub(super) fn to_int32(number: f64) -> i32 {
    const TWO_32: f64 = 4_294_967_296.0;
    let fast = number as i32;
    if f64::from(fast) == number {
        return fast;
    }
    if !number.is_finite() {
        return 0;
    }
    // Magnitude below 2^32, so the conversion to i64 is exact; the one to i32 wraps.
    (number.trunc() % TWO_32) as i64 as i32
}

/// ECMAScript's `%` on numbers (Number::remainder): exact, with the sign of `a`.
pub fn remainder(a: f64, b: f64) -> f64 {
    /// The mantissas below have 53 bits of 64.
    const STEP_MAX: u32 = 11;
    let (magnitude, divisor) = (a.abs(), b.abs());
    if !(magnitude < f64::INFINITY && divisor > 0.0) {
        return f64::NAN;
    }
    if magnitude < divisor {
        return a;
    }
    // Both are whole numbers divided by powers of two. The one of `b` is the smaller one, and that of the result.
    let ((dividend, exponent), (divisor, least)) = (parts(magnitude), parts(divisor));
    let mut rest = dividend % divisor;
    let mut left = exponent - least;
    while left > 0 && rest > 0 {
        let step = left.min(STEP_MAX);
        rest = (rest << step) % divisor;
        left -= step;
    }
    let scale = match least.checked_sub(MANTISSA_BITS - 1) {
        Some(exponent @ 1..) => u64::from(exponent) << MANTISSA_BITS,
        _ => 1 << least,
    };
    (rest as f64 * f64::from_bits(scale)).copysign(a)
}

/// Bits of a mantissa that are written.
const MANTISSA_BITS: u32 = 52;

/// A finite magnitude as a whole number of at most 53 bits and the power of two that it is multiplied by, counted from
/// that of the smallest number.
fn parts(magnitude: f64) -> (u64, u32) {
    let bits = magnitude.to_bits();
    let mantissa = bits & ((1 << MANTISSA_BITS) - 1);
    match (bits >> MANTISSA_BITS) as u32 {
        0 => (mantissa, 0),
        exponent => (mantissa | 1 << MANTISSA_BITS, exponent - 1),
    }
}

/// ECMAScript's `**` on numbers (Number::exponentiate).
pub fn power(base: f64, exponent: f64) -> f64 {
    if exponent.is_nan() || (base.abs() == 1.0 && exponent.is_infinite()) {
        return f64::NAN;
    }
    base.powf(exponent)
}
