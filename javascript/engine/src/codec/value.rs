//! A value of the engine as both directions handle it.

use heddle_javascript::wire::DEPTH_MAX;
use rquickjs::{Error, Result, Value, qjs};

/// A value of the engine that is freed when dropped.
pub struct Owned {
    pub context: *mut qjs::JSContext,
    pub raw: qjs::JSValue,
}

impl Owned {
    /// Takes what an engine function gave; an exception becomes an error.
    pub fn checked(context: *mut qjs::JSContext, raw: qjs::JSValue) -> Result<Self> {
        // SAFETY: only looks at the tag.
        match unsafe { qjs::JS_IsException(raw) } {
            true => Err(Error::Exception),
            false => Ok(Owned { context, raw }),
        }
    }

    /// Owns a value once more, which somebody else keeps alive.
    pub fn again(context: *mut qjs::JSContext, raw: qjs::JSValue) -> Self {
        // SAFETY: duplicates the value, so that both own it.
        let raw = unsafe { qjs::JS_DupValue(context, raw) };
        Owned { context, raw }
    }

    pub fn into_raw(self) -> qjs::JSValue {
        let raw = self.raw;
        std::mem::forget(self);
        raw
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        // SAFETY: the value is owned and its context lives as long as the engine.
        unsafe { qjs::JS_FreeValue(self.context, self.raw) }
    }
}

pub fn too_deep() -> String {
    format!("The value is nested more than {DEPTH_MAX} deep, or contains itself")
}

/// Class ids of plain objects and of boxed primitives, which the C interface does not name.
#[derive(Clone, Copy, Default)]
pub struct Classes {
    pub object: u16,
    pub number: u16,
    pub string: u16,
    pub boolean: u16,
}

/// Class of an object.
pub fn class_of(value: &Value<'_>) -> u16 {
    // SAFETY: only looks at the value.
    unsafe { qjs::JS_GetClassID(value.as_raw()) as u16 }
}
