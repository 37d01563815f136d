//! Values of the wire to values of the engine and back.
//!
//! What leaves the engine is what `JSON.stringify` would see (`toJSON`, own enumerable properties, boxed
//! primitives as what they box, functions and symbols left out), with `undefined`, NaN, infinities and dates kept.

mod decoder;
mod encoder;
mod texts;
mod value;

pub use decoder::to_engine;
pub use encoder::from_engine;
pub use value::{Classes, class_of};

use rquickjs::qjs;

/// A string's text; lone surrogates read as U+FFFD.
pub fn text_of(string: &rquickjs::String<'_>) -> String {
    let context = string.ctx().as_raw().as_ptr();
    if let Ok(text) = string.to_string() {
        return text;
    }
    let mut length = 0;
    // SAFETY: the text is read with the length that came with it, and freed after that.
    unsafe {
        let text = qjs::JS_ToCStringLenUTF16(context, &mut length, string.as_value().as_raw());
        if text.is_null() {
            return String::new();
        }
        let units = std::slice::from_raw_parts(text, length as usize);
        let copy = String::from_utf16_lossy(units);
        qjs::JS_FreeCStringUTF16(context, text);
        copy
    }
}
