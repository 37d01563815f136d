//! Values of the engine to a message.

use super::texts::is_ascii;
use super::value::{Classes, Owned, too_deep};
use crate::layout;
use heddle_javascript::protocol::ANSWER_BYTES_MAX;
use heddle_javascript::wire::{DEPTH_MAX, Text, Writer};
use rquickjs::{Ctx, Error, Exception, Result, Value, qjs};
use std::ptr::null_mut;

/// Writes a value; fails as `JSON.stringify` does, by an exception, and when there is too much of it.
pub fn from_engine<'js>(value: &Value<'js>, writer: &mut Writer, classes: Classes) -> Result<()> {
    let ctx = value.ctx();
    let mut encoder = Encoder {
        ctx,
        context: ctx.as_raw().as_ptr(),
        writer,
        keys: [(qjs::JS_ATOM_NULL, 0); KEYS],
        kept: Vec::new(),
        kinds: Vec::new(),
        oldest: 0,
        to_json: qjs::JS_ATOM_NULL,
        arrays: 0,
        depth: 0,
        classes,
    };
    encoder.value(value.as_raw(), false)
}

/// Places of the cache of keys.
const KEYS: usize = 64;
/// Kinds that are remembered.
const KINDS: usize = 16;

/// Objects of one shape.
struct Kind {
    /// In the message.
    number: u32,
    properties: usize,
    shape: usize,
    /// Nobody else has it: that keeps the shape as it is.
    example: Owned,
}

struct Encoder<'a, 'js> {
    ctx: &'a Ctx<'js>,
    context: *mut qjs::JSContext,
    writer: &'a mut Writer,
    /// Index of a key by its atom, direct-mapped.
    keys: [(qjs::JSAtom, u32); KEYS],
    /// Atoms in the cache, kept alive so that no other text gets their number.
    kept: Vec<qjs::JSAtom>,
    kinds: Vec<Kind>,
    /// Which of them gives way next.
    oldest: usize,
    /// The name of the method, once it was needed.
    to_json: qjs::JSAtom,
    /// How many arrays are open.
    arrays: usize,
    depth: usize,
    classes: Classes,
}

impl Drop for Encoder<'_, '_> {
    fn drop(&mut self) {
        for atom in &self.kept {
            // SAFETY: each was duplicated when it was kept.
            unsafe { qjs::JS_FreeAtom(self.context, *atom) }
        }
        // SAFETY: it is owned, or none, which is never freed.
        unsafe { qjs::JS_FreeAtom(self.context, self.to_json) }
    }
}

impl Encoder<'_, '_> {
    /// `replaced`: the value came from a `toJSON`, and its own does not count.
    fn value(&mut self, value: qjs::JSValue, replaced: bool) -> Result<()> {
        if self.writer.len() > ANSWER_BYTES_MAX {
            let message = format!("The value has more than {} MiB", ANSWER_BYTES_MAX >> 20);
            return Err(Exception::throw_range(self.ctx, &message));
        }
        // SAFETY: reads the tag, and then what the tag says is there.
        unsafe {
            match qjs::JS_VALUE_GET_NORM_TAG(value) {
                qjs::JS_TAG_INT => self.writer.integer(qjs::JS_VALUE_GET_INT(value)),
                qjs::JS_TAG_FLOAT64 => self.writer.number(qjs::JS_VALUE_GET_FLOAT64(value)),
                qjs::JS_TAG_BOOL => self.writer.bool(qjs::JS_VALUE_GET_BOOL(value)),
                qjs::JS_TAG_NULL => self.writer.null(),
                qjs::JS_TAG_STRING | qjs::JS_TAG_STRING_ROPE => return self.text(value, Writer::text),
                qjs::JS_TAG_BIG_INT | qjs::JS_TAG_SHORT_BIG_INT => {
                    let message = "A BigInt can't be handed on; make it a Number or a String";
                    return Err(Exception::throw_type(self.ctx, message));
                }
                qjs::JS_TAG_OBJECT => return self.nested(value, replaced),
                _ => self.writer.undefined(),
            }
        }
        Ok(())
    }

    fn nested(&mut self, value: qjs::JSValue, replaced: bool) -> Result<()> {
        if self.depth == DEPTH_MAX {
            return Err(Exception::throw_range(self.ctx, &too_deep()));
        }
        self.depth += 1;
        let result = self.object(value, replaced);
        self.depth -= 1;
        result
    }

    fn object(&mut self, value: qjs::JSValue, replaced: bool) -> Result<()> {
        // SAFETY: all of these read a value that the caller keeps alive.
        unsafe {
            if qjs::JS_IsFunction(self.context, value) {
                self.writer.undefined();
                return Ok(());
            }
            if qjs::JS_IsDate(value) {
                let ms = self.number_of(value)?;
                self.writer.date(ms);
                return Ok(());
            }
            if qjs::JS_IsArray(value) {
                return self.array(value);
            }
        }
        if !replaced && let Some(replaced) = self.to_json(value)? {
            return self.value(replaced.raw, true);
        }
        // SAFETY: as above.
        let class = unsafe { qjs::JS_GetClassID(value) as u16 };
        if class == self.classes.number {
            let number = self.number_of(value)?;
            self.writer.number(number);
            return Ok(());
        }
        if class == self.classes.string {
            // SAFETY: gives a new string or an exception.
            let text = Owned::checked(self.context, unsafe { qjs::JS_ToString(self.context, value) })?;
            return self.text(text.raw, Writer::text);
        }
        if class == self.classes.boolean {
            let text = self.string_of(value)?;
            self.writer.bool(text == "true");
            return Ok(());
        }
        self.properties(value)
    }

    fn number_of(&self, value: qjs::JSValue) -> Result<f64> {
        let mut number = 0.0;
        // SAFETY: writes one double.
        match unsafe { qjs::JS_ToFloat64(self.context, &mut number, value) } {
            0 => Ok(number),
            _ => Err(Error::Exception),
        }
    }

    fn string_of(&self, value: qjs::JSValue) -> Result<String> {
        // SAFETY: duplicates the value, so that both own it.
        let value = unsafe { Value::from_raw(self.ctx.clone(), qjs::JS_DupValue(self.context, value)) };
        value.get::<rquickjs::Coerced<String>>().map(|text| text.0)
    }

    /// What the object's `toJSON` gives, if it has one.
    fn to_json(&mut self, value: qjs::JSValue) -> Result<Option<Owned>> {
        // SAFETY: the value is alive; names are C strings; the call's arguments are one value that lives.
        unsafe {
            if self.to_json == qjs::JS_ATOM_NULL {
                self.to_json = qjs::JS_NewAtom(self.context, c"toJSON".as_ptr());
                if self.to_json == qjs::JS_ATOM_NULL {
                    return Err(Error::Exception);
                }
            }
            let method = qjs::JS_GetProperty(self.context, value, self.to_json);
            let method = Owned::checked(self.context, method)?;
            if !qjs::JS_IsFunction(self.context, method.raw) {
                return Ok(None);
            }
            let key = Owned::checked(self.context, qjs::JS_NewStringLen(self.context, c"".as_ptr(), 0))?;
            let mut arguments = [key.raw];
            let result = qjs::JS_Call(self.context, method.raw, value, 1, arguments.as_mut_ptr());
            Owned::checked(self.context, result).map(Some)
        }
    }

    fn array(&mut self, array: qjs::JSValue) -> Result<()> {
        let mut length = 0;
        // SAFETY: writes one length.
        if unsafe { qjs::JS_GetLength(self.context, array, &mut length) } < 0 {
            return Err(Error::Exception);
        }
        // An array's length is less than 2^32.
        let length = length as u32;
        self.writer.array(length);
        self.arrays += 1;
        for index in 0..length {
            // SAFETY: the array is alive.
            let item = unsafe { qjs::JS_GetPropertyUint32(self.context, array, index) };
            let item = Owned::checked(self.context, item)?;
            self.value(item.raw, false)?;
        }
        self.arrays -= 1;
        Ok(())
    }

    fn properties(&mut self, object: qjs::JSValue) -> Result<()> {
        if let Some(kind) = self.known_kind(object)
            && !self.leaves_out(object, kind.properties)
        {
            // Kept alive: another one may take its place.
            let (number, properties) = (kind.number, kind.properties);
            let example = Owned::again(self.context, kind.example.raw);
            return self.like(object, number, properties, &example);
        }
        let mut names = Names {
            context: self.context,
            list: null_mut(),
            length: 0,
        };
        // SAFETY: writes a list and its length.
        let listed = unsafe {
            let flags = (qjs::JS_GPN_STRING_MASK | qjs::JS_GPN_ENUM_ONLY) as i32;
            qjs::JS_GetOwnPropertyNames(self.context, &mut names.list, &mut names.length, object, flags)
        };
        if listed < 0 {
            return Err(Error::Exception);
        }
        // Made before anything is written: what follows may change the object.
        let example = self.example(object, &names);
        let number = match example {
            Some(_) => self.writer.kind(),
            None => {
                self.writer.object();
                0
            }
        };
        for index in 0..names.length {
            let atom = names.atom(index);
            // SAFETY: object and atom are alive.
            let value = unsafe { qjs::JS_GetProperty(self.context, object, atom) };
            let value = Owned::checked(self.context, value)?;
            let is_left_out = self.is_left_out(value.raw);
            // All of a kind have all of its keys.
            if !is_left_out || example.is_some() {
                self.key(atom)?;
                self.value(value.raw, false)?;
            }
        }
        self.writer.end();
        if let Some(example) = example {
            self.keep_kind(Kind {
                number,
                properties: names.length as usize,
                // SAFETY: it is alive.
                shape: unsafe { layout::shape_of(example.raw) },
                example,
            });
        }
        Ok(())
    }

    /// The kind of a plain object.
    fn known_kind(&self, object: qjs::JSValue) -> Option<&Kind> {
        // SAFETY: it is alive.
        let shape = unsafe { layout::shape_of(object) };
        let kind = self.kinds.iter().find(|kind| kind.shape == shape);
        kind.filter(|_| self.is_plain(object))
    }

    fn is_plain(&self, object: qjs::JSValue) -> bool {
        // SAFETY: only looks at the object.
        unsafe { qjs::JS_GetClassID(object) as u16 == self.classes.object }
    }

    /// Whether one of the first properties of an object with plain names is left out.
    fn leaves_out(&self, object: qjs::JSValue, properties: usize) -> bool {
        // SAFETY: the object is alive, and has so many.
        let mut values = (0..properties).map(|place| unsafe { layout::value_at(object, place) });
        values.any(|value| self.is_left_out(value))
    }

    /// An object of a known kind, of which `example` is one.
    fn like(&mut self, object: qjs::JSValue, number: u32, properties: usize, example: &Owned) -> Result<()> {
        self.writer.like(number);
        for place in 0..properties {
            // SAFETY: both are alive, and an object with this shape has so many values.
            let value = unsafe {
                match layout::shape_of(object) == layout::shape_of(example.raw) {
                    true => Owned::again(self.context, layout::value_at(object, place)),
                    // A `toJSON` of one of its values has changed it.
                    false => {
                        let name = layout::plain_names(example.raw).and_then(|mut names| names.nth(place));
                        let name = name.unwrap_or(qjs::JS_ATOM_NULL);
                        Owned::checked(self.context, qjs::JS_GetProperty(self.context, object, name))?
                    }
                }
            };
            self.value(value.raw, false)?;
        }
        Ok(())
    }

    /// An object of the same shape, if others in the same array may have it and be written by their values alone: if these are
    /// as many as the names that are listed, and in their order.
    fn example(&self, object: qjs::JSValue, names: &Names) -> Option<Owned> {
        let properties = names.length as usize;
        if self.arrays == 0 || properties == 0 || !self.is_plain(object) {
            return None;
        }
        // SAFETY: both objects are alive and plain, `undefined` is owned by nobody, and there are as many values as properties.
        unsafe {
            let listed = (0..names.length).map(|index| names.atom(index));
            if !layout::plain_names(object)?.eq(listed) || self.leaves_out(object, properties) {
                return None;
            }
            let fresh = Owned::checked(self.context, qjs::JS_NewObject(self.context));
            let fresh = fresh.inspect_err(|_| drop(self.ctx.catch())).ok()?;
            let values = vec![qjs::JS_UNDEFINED; properties];
            let example = layout::new_like(self.context, (fresh.raw, object), &values)?;
            Some(Owned {
                context: self.context,
                raw: example,
            })
        }
    }

    fn keep_kind(&mut self, kind: Kind) {
        match self.kinds.get_mut(self.oldest) {
            Some(oldest) => *oldest = kind,
            None => self.kinds.push(kind),
        }
        self.oldest = (self.oldest + 1) % KINDS;
    }

    fn is_left_out(&self, value: qjs::JSValue) -> bool {
        // SAFETY: only looks at the value.
        unsafe {
            qjs::JS_VALUE_GET_TAG(value) == qjs::JS_TAG_SYMBOL || qjs::JS_IsFunction(self.context, value)
        }
    }

    fn key(&mut self, atom: qjs::JSAtom) -> Result<()> {
        let place = atom as usize % KEYS;
        let (known, index) = self.keys[place];
        if known == atom {
            self.writer.known_key(index);
            return Ok(());
        }
        // SAFETY: the atom is alive.
        let text = Owned::checked(self.context, unsafe { qjs::JS_AtomToString(self.context, atom) })?;
        let mut index = 0;
        self.text(text.raw, |writer, text| index = writer.new_key(text))?;
        // SAFETY: as above.
        unsafe { qjs::JS_DupAtom(self.context, atom) };
        self.kept.push(atom);
        self.keys[place] = (atom, index);
        Ok(())
    }

    /// Hands the text of a string to `write`.
    fn text(&mut self, value: qjs::JSValue, write: impl FnOnce(&mut Writer, Text<'_>)) -> Result<()> {
        // SAFETY: the text is alive, and nothing happens to it while it is written; ASCII is UTF-8.
        unsafe {
            if qjs::JS_VALUE_GET_TAG(value) == qjs::JS_TAG_STRING
                && let Some(text) = layout::latin1_of(value)
                && is_ascii(text)
            {
                write(self.writer, Text::Utf8(str::from_utf8_unchecked(text)));
                return Ok(());
            }
        }
        let mut length = 0;
        // SAFETY: the texts are read with the lengths that came with them, and freed after that.
        unsafe {
            let text = qjs::JS_ToCStringLen2(self.context, &mut length, value, false);
            if text.is_null() {
                return Err(Error::Exception);
            }
            let bytes = std::slice::from_raw_parts(text.cast::<u8>(), length as usize);
            if let Ok(utf8) = str::from_utf8(bytes) {
                write(self.writer, Text::Utf8(utf8));
                qjs::JS_FreeCString(self.context, text);
                return Ok(());
            }
            qjs::JS_FreeCString(self.context, text);
            let text = qjs::JS_ToCStringLenUTF16(self.context, &mut length, value);
            if text.is_null() {
                return Err(Error::Exception);
            }
            let units = std::slice::from_raw_parts(text, length as usize);
            write(self.writer, Text::Utf16(units));
            qjs::JS_FreeCStringUTF16(self.context, text);
        }
        Ok(())
    }
}

struct Names {
    context: *mut qjs::JSContext,
    list: *mut qjs::JSPropertyEnum,
    length: u32,
}

impl Names {
    /// Atom of the name at `index`, which is less than the length.
    fn atom(&self, index: u32) -> qjs::JSAtom {
        // SAFETY: the list has as many entries as its length says.
        unsafe { (*self.list.add(index as usize)).atom }
    }
}

impl Drop for Names {
    fn drop(&mut self) {
        // SAFETY: the list is owned; an empty one may be null.
        unsafe { qjs::JS_FreePropertyEnum(self.context, self.list, self.length) }
    }
}
