//! The stack of values behind handles, and text in the module's memory.
//!
//! Whoever calls compiled code marks the stack and releases it afterwards.

use crate::value::{Array, Object, Value};
use std::cell::RefCell;

thread_local! {
    static HANDLES: RefCell<Vec<Value>> = const { RefCell::new(Vec::new()) };
}

/// `undefined`, `null`, `false` and `true` have fixed handles.
const FIXED: usize = 4;

fn fixed(handle: usize) -> Value {
    match handle {
        1 => Value::Null,
        2 => Value::Bool(false),
        3 => Value::Bool(true),
        _ => Value::Undefined,
    }
}

/// A handle for a value.
pub(super) fn make(value: Value) -> i32 {
    match value {
        Value::Undefined => crate::abi::UNDEFINED,
        Value::Null => crate::abi::NULL,
        Value::Bool(false) => crate::abi::FALSE,
        Value::Bool(true) => crate::abi::TRUE,
        value => HANDLES.with_borrow_mut(|handles| {
            handles.push(value);
            (handles.len() - 1 + FIXED) as i32
        }),
    }
}

/// Reads the value of a handle. `reader` must not make handles.
pub(super) fn read<T>(handle: i32, reader: impl FnOnce(&Value) -> T) -> T {
    let handle = handle as u32 as usize;
    HANDLES.with_borrow(|handles| match handle.checked_sub(FIXED) {
        Some(at) => reader(handles.get(at).unwrap_or(&Value::Undefined)),
        None => reader(&fixed(handle)),
    })
}

/// The value of a handle.
pub(super) fn value(handle: i32) -> Value {
    read(handle, Value::clone)
}

/// Changes the value of a handle in place; `None` if there is none.
pub(super) fn change<T>(handle: i32, changer: impl FnOnce(&mut Value) -> T) -> Option<T> {
    let at = (handle as u32 as usize).checked_sub(FIXED)?;
    HANDLES.with_borrow_mut(|handles| handles.get_mut(at).map(changer))
}

/// The array in a slot; anything else becomes an empty one.
pub(super) fn array(slot: &mut Value) -> &mut Array {
    if !matches!(slot, Value::Array(_)) {
        *slot = Value::Array(Array::default());
    }
    match slot {
        Value::Array(array) => array,
        _ => unreachable!("made an array above"),
    }
}

/// The object in a slot; anything else becomes an empty one.
pub(super) fn object(slot: &mut Value) -> &mut Object {
    if !matches!(slot, Value::Object(_)) {
        *slot = Value::Object(Object::new());
    }
    match slot {
        Value::Object(object) => object,
        _ => unreachable!("made an object above"),
    }
}

/// Height of the stack.
pub(super) fn mark() -> usize {
    HANDLES.with_borrow(Vec::len)
}

/// Forgets the handles made since `mark`.
pub(super) fn release(mark: usize) {
    HANDLES.with_borrow_mut(|handles| handles.truncate(mark));
}

/// Bytes in the module's memory; empty if they lie outside it.
pub(super) fn bytes_of(address: i32, length: i32) -> &'static [u8] {
    const PAGE_BYTES: usize = 65_536;
    let (address, length) = (address as u32 as usize, length as u32 as usize);
    let memory_bytes = core::arch::wasm32::memory_size::<0>().saturating_mul(PAGE_BYTES);
    match address.checked_add(length) {
        // SAFETY: the range lies within linear memory, all of which is initialised, and every caller has done with
        // it before it returns to the module that could write there.
        Some(end) if length > 0 && end <= memory_bytes => unsafe {
            std::slice::from_raw_parts(std::ptr::with_exposed_provenance(address), length)
        },
        _ => &[],
    }
}

/// Text in the module's memory; empty if it is no UTF-8.
pub(super) fn text_of(address: i32, length: i32) -> &'static str {
    str::from_utf8(bytes_of(address, length)).unwrap_or("")
}
