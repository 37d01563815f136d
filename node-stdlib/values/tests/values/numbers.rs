//! Methods of numbers that write digits: which, and how they are rounded.

use heddle_values::date_time::Clock;
use heddle_values::methods::{self, Caller, Exception, Method, Outcome};
use heddle_values::{Value, text_to_number};

/// Methods of numbers call nothing.
struct Nobody;

impl Caller for Nobody {
    fn call(&mut self, _: u32, _: &mut [Value]) -> Outcome {
        Err(Exception::kept())
    }

    fn clock(&self) -> Clock {
        Clock::utc(0.0)
    }
}

/// What a method of numbers gives, or the kind of what it throws.
fn written(number: f64, method: Method, argument: Option<f64>) -> String {
    let arguments: Vec<Value> = argument.into_iter().map(Value::Number).collect();
    match methods::call_method(&Value::Number(number), method, &arguments, &mut Nobody) {
        Ok(Value::String(text)) => text.to_utf8().into_owned(),
        Ok(other) => panic!("{} is no text", other.to_json()),
        Err(exception) => exception.kind.name().to_owned(),
    }
}

#[test]
fn numbers_have_exponents_as_in_javascript() {
    for (number, text) in [
        (123_456.0, "1.23456e+5"),
        (1_000.0, "1e+3"),
        (-0.000_125, "-1.25e-4"),
        (0.5, "5e-1"),
        (0.0, "0e+0"),
        (-0.0, "0e+0"),
        (1e20, "1e+20"),
        (1e21, "1e+21"),
        (1e-7, "1e-7"),
        (5e-324, "5e-324"),
        (f64::MAX, "1.7976931348623157e+308"),
        (f64::NAN, "NaN"),
        (f64::NEG_INFINITY, "-Infinity"),
        // Half way between two texts of so many digits: the even one.
        (2_f64.powi(50) + 0.25, "1.1258999068426242e+15"),
        (2_f64.powi(50) + 0.75, "1.1258999068426248e+15"),
        // A power of two, whose neighbour below is nearer than the one above.
        (f64::from_bits(0x3d30_0000_0000_0000), "5.684341886080802e-14"),
    ] {
        assert_eq!(written(number, Method::ToExponential, None), text);
        if number.is_finite() && number != 0.0 {
            let decimal = text_to_number(text);
            assert_eq!(decimal.to_bits(), number.to_bits(), "{text}");
        }
    }
}

#[test]
fn digits_that_are_asked_for_are_rounded_half_away_from_zero() {
    use Method::{ToExponential, ToFixed, ToPrecision};
    for (number, method, digits, text) in [
        (0.5, ToExponential, 0.0, "5e-1"),
        (1.25, ToExponential, 1.0, "1.3e+0"),
        (-1.25, ToExponential, 1.0, "-1.3e+0"),
        (25.0, ToExponential, 0.0, "3e+1"),
        (35.0, ToExponential, 0.0, "4e+1"),
        (95.0, ToExponential, 0.0, "1e+2"),
        (12_345.0, ToExponential, 3.0, "1.235e+4"),
        (123_456.0, ToExponential, 2.0, "1.23e+5"),
        // What only looks like half: 1.005 is a little less.
        (1.005, ToExponential, 2.0, "1.00e+0"),
        (1e21, ToExponential, 3.0, "1.000e+21"),
        (5e-324, ToExponential, 3.0, "4.941e-324"),
        (f64::MAX, ToExponential, 0.0, "2e+308"),
        (0.0, ToExponential, 2.0, "0.00e+0"),
        (-0.0, ToExponential, 2.0, "0.00e+0"),
        (f64::NAN, ToExponential, 200.0, "NaN"),
        (f64::INFINITY, ToExponential, -1.0, "Infinity"),
        (1.0, ToExponential, -1.0, "RangeError"),
        (1.0, ToExponential, 101.0, "RangeError"),
        (1.0, ToExponential, f64::INFINITY, "RangeError"),
        (25.0, ToPrecision, 1.0, "3e+1"),
        (2.5, ToPrecision, 1.0, "3"),
        (99.5, ToPrecision, 2.0, "1.0e+2"),
        (0.000_001_25, ToPrecision, 2.0, "0.0000013"),
        (-0.0, ToPrecision, 2.0, "0.0"),
        (f64::NAN, ToPrecision, 0.0, "NaN"),
        (1.0, ToPrecision, 0.0, "RangeError"),
        (1.0, ToPrecision, 101.0, "RangeError"),
        (0.5, ToFixed, 0.0, "1"),
        (2.5, ToFixed, 0.0, "3"),
        (-2.5, ToFixed, 0.0, "-3"),
        (1.45, ToFixed, 1.0, "1.4"),
        (0.125, ToFixed, 2.0, "0.13"),
        (-0.000_000_1, ToFixed, 2.0, "-0.00"),
        (-0.0, ToFixed, 2.0, "0.00"),
        (1e21, ToFixed, 2.0, "1e+21"),
        (f64::NAN, ToFixed, 2.0, "NaN"),
        (f64::NAN, ToFixed, 101.0, "RangeError"),
        (1.0, ToFixed, -1.0, "RangeError"),
    ] {
        let found = written(number, method, Some(digits));
        assert_eq!(found, text, "{number:e} {} {digits}", method.name());
    }
}
