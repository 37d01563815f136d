//! Texts that compiled code puts together part by part.
//!
//! A part may have such a text of its own in it, which is whole before the text around it goes on.

use super::handles::{make, read};
use super::with_run;
use heddle_values::{TextBuilder, TypeError, Value, ops};
use std::cell::RefCell;

thread_local! {
    static OPEN: RefCell<Vec<TextBuilder>> = const { RefCell::new(Vec::new()) };
}

/// Appends to the innermost text; nothing happens where none was begun.
fn append(append: impl FnOnce(&mut TextBuilder) -> Result<(), TypeError>) {
    let result = OPEN.with_borrow_mut(|open| open.last_mut().map_or(Ok(()), append));
    if let Err(error) = result {
        with_run(|run| run.expression_failed(&error.0));
    }
}

#[unsafe(export_name = "text_begin")]
extern "C" fn text_begin() {
    OPEN.with_borrow_mut(|open| open.push(TextBuilder::short()));
}

#[unsafe(export_name = "text_append")]
extern "C" fn text_append(of: i32) {
    append(|text| read(of, |of| ops::append_string(of, text)));
}

#[unsafe(export_name = "text_show")]
extern "C" fn text_show(of: i32) {
    append(|text| {
        read(of, |of| ops::append_text(of, text));
        Ok(())
    });
}

#[unsafe(export_name = "text_end")]
extern "C" fn text_end() -> i32 {
    let text = OPEN.with_borrow_mut(Vec::pop).unwrap_or_default();
    make(Value::String(text.finish()))
}
