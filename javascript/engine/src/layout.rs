//! How QuickJS lays out objects and texts, which its C interface does not tell, and such as are made by that.
//!
//! The names of an object's properties are a shape, which objects share that got the same ones in the same order. Given
//! properties one by one, an object goes through a shape for each of them, and mostly every one is made anew: that takes
//! ten times as long as all the rest. Here an object is made as a copy of another one, with its shape and with all values at
//! once, and a text without looking once more at what it consists of.
//!
//! [`check`] is executed when the snapshot is made: with a QuickJS that lays them out otherwise, there is none.

use rquickjs::qjs;

/// Where fields are, in bytes, in structures of `quickjs.c`.
mod offset {
    /// Of `JSMallocBlockHeader`, which is before what it counts the references to: `ref_count`, and before that a byte with
    /// `gc_obj_type`, which says what it is.
    pub const REFERENCES: usize = 4;
    pub const TYPE: usize = 5;
    /// Of `JSObject`: its places in the ring of all objects.
    pub const BEFORE: usize = 0;
    pub const AFTER: usize = 4;
    /// Flags and `class_id`; `first_weak_ref`; what belongs to the class, of which plain objects have nothing.
    pub const FLAGS: usize = 8;
    pub const WEAK: usize = 20;
    pub const OF_CLASS: usize = 24;
    /// `shape`, and `prop`, the list of its values.
    pub const SHAPE: usize = 12;
    pub const VALUES: usize = 16;
    /// Of `JSShape`: `is_hashed`, a byte, without which it can't be shared.
    pub const SHARABLE: usize = 8;
    /// `prop_hash_mask`: one less than there are words of a hash table, which begins at [`TABLE`]. The properties follow it.
    pub const MASK: usize = 16;
    pub const TABLE: usize = 40;
    /// `prop_size`, for how many values there is room, `prop_count` and `deleted_prop_count`.
    pub const ROOM: usize = 20;
    pub const COUNT: usize = 24;
    pub const DELETED: usize = 28;
    /// Of `JSString`: its length with [`super::WIDE`]; a word with its `kind`; after zeros the text and a zero.
    pub const LENGTH: usize = 0;
    pub const STRING_KIND: usize = 4;
    pub const TEXT: usize = 16;
}

/// Of a `JSObject`.
const OBJECT_BYTES: usize = 40;
/// The bits of its flags and class.
const FLAGS: u32 = 0xffff_01ff;
/// The bit of a text that has two bytes for each unit, and the bits that say how it is kept: zeros if it is in one piece.
const WIDE: u32 = 1 << 31;
const STRING_KIND: u32 = 3 << 28;

/// A structure of QuickJS.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Structure(*mut u8);

impl Structure {
    /// Of an object.
    fn of(object: qjs::JSValue) -> Self {
        // SAFETY: only looks at the value.
        Structure(unsafe { qjs::JS_VALUE_GET_PTR(object) }.cast())
    }

    /// Its word at an offset.
    ///
    /// # Safety
    /// The structure is alive and has one there.
    unsafe fn word(self, offset: usize) -> *mut u32 {
        // SAFETY: by the caller. Fields of four bytes are aligned.
        unsafe { self.0.add(offset) }.cast()
    }

    /// The structure that a word of it points to.
    ///
    /// # Safety
    /// As [`Structure::word`].
    unsafe fn follow(self, offset: usize) -> Structure {
        // SAFETY: by the caller. Addresses have four bytes.
        Structure(std::ptr::with_exposed_provenance_mut(
            unsafe { self.word(offset).read() } as usize,
        ))
    }

    /// Lets a word of it point to another structure.
    ///
    /// # Safety
    /// As [`Structure::word`].
    unsafe fn point(self, offset: usize, to: Structure) {
        // SAFETY: by the caller.
        unsafe { self.word(offset).write(to.0.expose_provenance() as u32) }
    }

    /// Memory of QuickJS's, if there is any left.
    ///
    /// # Safety
    /// The runtime is alive.
    unsafe fn new(runtime: *mut qjs::JSRuntime, bytes: usize) -> Option<Structure> {
        // SAFETY: by the caller. No structure has 4 GiB.
        let block: *mut u8 = unsafe { qjs::js_malloc_rt(runtime, bytes as u32) }.cast();
        (!block.is_null()).then_some(Structure(block))
    }

    /// Whether a shape can be shared.
    ///
    /// # Safety
    /// It is a shape, and alive.
    unsafe fn is_sharable(self) -> bool {
        // SAFETY: by the caller.
        unsafe { self.0.add(offset::SHARABLE).read() == 1 }
    }

    /// How often it is referred to.
    ///
    /// # Safety
    /// It is alive and allocated by QuickJS.
    unsafe fn references(self) -> *mut u32 {
        // SAFETY: by the caller: each block has a header before it.
        unsafe { self.0.sub(offset::REFERENCES) }.cast()
    }
}

/// Whether an object has so many properties, and others can be made like it ([`new_like`]).
///
/// # Safety
/// It is an object, and alive.
pub unsafe fn has_properties(object: qjs::JSValue, count: usize) -> bool {
    // SAFETY: by the caller; an object has a shape.
    unsafe {
        let shape = Structure::of(object).follow(offset::SHAPE);
        let is_whole = shape.word(offset::DELETED).read() == 0;
        shape.word(offset::COUNT).read() as usize == count && is_whole && shape.is_sharable()
    }
}

/// Where the shape of an object is. Another object that has it when this one is still alive has the same properties.
///
/// # Safety
/// It is an object, and alive.
pub unsafe fn shape_of(object: qjs::JSValue) -> usize {
    // SAFETY: by the caller.
    unsafe { Structure::of(object).word(offset::SHAPE).read() as usize }
}

/// The names of an object's properties in their order, which the object goes on owning, if others can be made like it and all
/// properties are as those that are written in code, so that their values are in the list.
///
/// # Safety
/// It is an object, and alive. It must not be changed while the names are looked at.
pub unsafe fn plain_names<'a>(
    object: qjs::JSValue,
) -> Option<impl ExactSizeIterator<Item = qjs::JSAtom> + 'a> {
    // SAFETY: by the caller; a shape has as many properties as it says, of two words each: the upper six bits of the first
    // are flags, the second is the name's atom.
    unsafe {
        let shape = Structure::of(object).follow(offset::SHAPE);
        let count = shape.word(offset::COUNT).read() as usize;
        let table_bytes = (shape.word(offset::MASK).read() as usize + 1) * size_of::<u32>();
        let first: *const [u32; 2] = shape.word(offset::TABLE + table_bytes).cast();
        let properties: &[[u32; 2]] = std::slice::from_raw_parts(first, count);
        let is_plain = |[flags, _]: &[u32; 2]| flags >> 26 == qjs::JS_PROP_C_W_E;
        let is_plain = has_properties(object, count) && properties.iter().all(is_plain);
        is_plain.then(|| properties.iter().map(|[_, name]| *name))
    }
}

/// A value of an object by its place, which the object goes on owning.
///
/// # Safety
/// The object is alive, has [`plain_names`] and more of them than this.
pub unsafe fn value_at(object: qjs::JSValue, place: usize) -> qjs::JSValue {
    // SAFETY: by the caller.
    unsafe {
        let list = Structure::of(object).follow(offset::VALUES).0;
        list.cast::<qjs::JSValue>().add(place).read()
    }
}

/// Owns a text once more, which somebody else keeps alive.
///
/// # Safety
/// It is a text, and alive.
#[inline]
pub unsafe fn again(text: qjs::JSValue) -> qjs::JSValue {
    // SAFETY: by the caller.
    unsafe { *Structure::of(text).references() += 1 };
    text
}

/// An object with the properties of another one and what it inherits, and with these values, which it takes; none, and nothing is
/// taken, if there is no memory. Otherwise it is as `fresh`, which may be that other one.
///
/// # Safety
/// Both are plain objects of this context and alive. `like` has as many properties as there are values, as [`has_properties`] says.
/// `fresh` was made by QuickJS and had nothing but properties added since. The values are owned.
pub unsafe fn new_like(
    context: *mut qjs::JSContext,
    (fresh, like): (qjs::JSValue, qjs::JSValue),
    values: &[qjs::JSValue],
) -> Option<qjs::JSValue> {
    let (fresh, like) = (Structure::of(fresh), Structure::of(like));
    // SAFETY: by the caller. The list has room for as many values as the shape says, which are at least as many as there are
    // properties. References to the shape are counted, and the object is in the ring of all before anybody looks at it.
    unsafe {
        let runtime = qjs::JS_GetRuntime(context);
        let shape = like.follow(offset::SHAPE);
        let room = shape.word(offset::ROOM).read() as usize;
        let object = Structure::new(runtime, OBJECT_BYTES)?;
        let Some(list) = Structure::new(runtime, room * size_of::<qjs::JSValue>()) else {
            qjs::js_free_rt(runtime, object.0.cast());
            return None;
        };
        std::ptr::copy_nonoverlapping(values.as_ptr(), list.0.cast(), values.len());
        let fields: *const [u64; OBJECT_BYTES / 8] = fresh.0.cast();
        object.0.cast::<[u64; OBJECT_BYTES / 8]>().write(fields.read());
        object.point(offset::SHAPE, shape);
        *shape.references() += 1;
        object.point(offset::VALUES, list);
        object.0.sub(offset::TYPE).write(fresh.0.sub(offset::TYPE).read());
        object.references().write(1);
        // What was after the fresh one is now after this one.
        object.point(offset::BEFORE, fresh);
        fresh.follow(offset::AFTER).point(offset::BEFORE, object);
        fresh.point(offset::AFTER, object);
        Some(qjs::JS_MKPTR(qjs::JS_TAG_OBJECT, object.0.cast()))
    }
}

/// What a text consists of, in Latin-1, if that is how it is kept, and in one piece.
///
/// # Safety
/// It is a text, and alive as long as this is looked at.
pub unsafe fn latin1_of<'a>(text: qjs::JSValue) -> Option<&'a [u8]> {
    let string = Structure::of(text);
    // SAFETY: by the caller. Such a text has as many bytes behind its fields as it says.
    unsafe {
        let [length, kind] = [offset::LENGTH, offset::STRING_KIND].map(|at| string.word(at).read());
        let is_plain = length & WIDE == 0 && kind & STRING_KIND == 0;
        let first = string.0.add(offset::TEXT).cast_const();
        is_plain.then(|| std::slice::from_raw_parts(first, length as usize))
    }
}

/// A text; none if there is no memory.
///
/// # Safety
/// The context is alive, and the text is ASCII and not empty.
pub unsafe fn new_ascii(context: *mut qjs::JSContext, text: &[u8]) -> Option<qjs::JSValue> {
    // SAFETY: by the caller. There is room for what is before the text, for it, and for the zero behind it.
    unsafe {
        let string = Structure::new(qjs::JS_GetRuntime(context), offset::TEXT + text.len() + 1)?;
        let fields = [text.len() as u32, 0, 0, 0];
        string.0.cast::<[u32; 4]>().write(fields);
        let first = string.0.add(offset::TEXT);
        std::ptr::copy_nonoverlapping(text.as_ptr(), first, text.len());
        first.add(text.len()).write(0);
        string.references().write(1);
        Some(qjs::JS_MKPTR(qjs::JS_TAG_STRING, string.0.cast()))
    }
}

/// Panics unless objects and texts are laid out as is said here.
///
/// # Safety
/// The context is alive.
pub unsafe fn check(context: *mut qjs::JSContext) {
    // SAFETY: by the caller.
    unsafe {
        check_texts(context);
        check_objects(context);
    }
}

/// # Safety
/// The context is alive.
unsafe fn check_texts(context: *mut qjs::JSContext) {
    for text in ["a", "seven b", "a text of some length, longer than a block"] {
        // SAFETY: what is made is owned until it is freed, and is read as far as it goes.
        unsafe {
            let theirs = qjs::JS_NewStringLen(context, text.as_ptr().cast(), text.len() as u32);
            let ours = new_ascii(context, text.as_bytes()).unwrap_or(qjs::JS_UNDEFINED);
            assert!(qjs::JS_VALUE_GET_TAG(ours) == qjs::JS_VALUE_GET_TAG(theirs));
            // The last word before the text is not set by them.
            let fields = |value| Structure::of(value).0.cast::<[u32; 3]>().read();
            assert!(fields(ours) == fields(theirs));
            let bytes = |value| {
                let first = Structure::of(value).0.add(offset::TEXT);
                std::slice::from_raw_parts(first.cast_const(), text.len() + 1)
            };
            assert!(bytes(ours) == bytes(theirs));
            assert!(latin1_of(theirs) == Some(text.as_bytes()));
            assert!(qjs::JS_IsStrictEqual(context, ours, theirs));
            let references = Structure::of(ours).references();
            assert!(references.read() == 1 && again(ours) == ours && references.read() == 2);
            for value in [ours, ours, theirs] {
                qjs::JS_FreeValue(context, value);
            }
        }
    }
    // One with two bytes for each unit, and a part of a long one.
    for source in [c"'\u{105}'", c"'a'.repeat(5000).slice(1, 4000)"] {
        // SAFETY: the source ends with a zero, and the length is that before it.
        unsafe {
            let length = source.count_bytes() as u32;
            let flags = qjs::JS_EVAL_TYPE_GLOBAL as i32;
            let text = qjs::JS_Eval(context, source.as_ptr(), length, c"layout".as_ptr(), flags);
            assert!(qjs::JS_VALUE_GET_TAG(text) == qjs::JS_TAG_STRING && latin1_of(text).is_none());
            qjs::JS_FreeValue(context, text);
        }
    }
}

/// # Safety
/// The context is alive.
unsafe fn check_objects(context: *mut qjs::JSContext) {
    // SAFETY: what is made is owned until it is freed, and names are C strings. A layout that is not the expected one is
    // found where the memory is only read.
    unsafe {
        let [first, second, empty, anchor] = [(); 4].map(|()| qjs::JS_NewObject(context));
        let names = [c"one", c"two", c"three", c"four"];
        let value = |number: usize| qjs::JS_NewFloat64(number as f64 + 0.5);
        for object in [first, second] {
            for (number, name) in names.iter().enumerate() {
                qjs::JS_SetPropertyStr(context, object, name.as_ptr(), value(number));
            }
        }
        let expected: [qjs::JSValue; 4] = std::array::from_fn(value);
        let values = |object: qjs::JSValue| {
            let list = Structure::of(object).follow(offset::VALUES).0;
            list.cast::<[qjs::JSValue; 4]>().read()
        };
        let references = |object: qjs::JSValue| Structure::of(object).references().read();
        let shape = |object: qjs::JSValue| Structure::of(object).follow(offset::SHAPE);
        assert!(shape(first) == shape(second) && shape(empty) == shape(anchor));
        assert!(shape(first) != shape(empty));
        assert!(has_properties(first, 4) && has_properties(empty, 0));
        assert!(shape(first).is_sharable() && shape(first).word(offset::ROOM).read() >= 4);
        assert!(values(first) == expected && value_at(first, 3) == expected[3]);
        let atoms = names.map(|name| qjs::JS_NewAtom(context, name.as_ptr()));
        assert!(plain_names(first).is_some_and(|names| names.eq(atoms)));
        assert!(plain_names(empty).is_some_and(|names| names.len() == 0));
        assert!(shape_of(first) == shape(first).0.expose_provenance());
        assert!(references(first) == 1 && shape(first).references().read() == 2);
        qjs::JS_DupValue(context, first);
        assert!(references(first) == 2);
        qjs::JS_FreeValue(context, first);
        // Two that were made alike differ in nothing but their places in the ring, where their values are, and what is never set.
        let fields = |object| {
            let word = |at: usize| Structure::of(object).word(at).read();
            [
                word(offset::FLAGS) & FLAGS,
                word(offset::SHAPE),
                word(offset::WEAK),
                word(offset::OF_CLASS),
            ]
        };
        assert!(fields(first) == fields(second) && fields(first)[2..] == [0, 0]);
        let bytes = qjs::js_malloc_usable_size_rt(qjs::JS_GetRuntime(context), Structure::of(first).0.cast());
        assert!(bytes as usize == OBJECT_BYTES);
        for object in [first, second].map(Structure::of) {
            assert!(object.follow(offset::AFTER).follow(offset::BEFORE) == object);
            assert!(object.follow(offset::BEFORE).follow(offset::AFTER) == object);
        }
        qjs::JS_DeleteProperty(context, second, atoms[3], 0);
        for atom in atoms {
            qjs::JS_FreeAtom(context, atom);
        }
        let changed = shape(second);
        assert!(changed.word(offset::COUNT).read() == 4 && changed.word(offset::DELETED).read() == 1);
        assert!(!changed.is_sharable() && !has_properties(second, 4));
        let made = new_like(context, (empty, first), &expected).unwrap_or(qjs::JS_UNDEFINED);
        assert!(qjs::JS_VALUE_GET_TAG(made) == qjs::JS_VALUE_GET_TAG(first));
        assert!(
            shape(empty) == shape(anchor)
                && shape(made) == shape(first)
                && shape(first).references().read() == 2
        );
        for (number, name) in names.iter().enumerate() {
            let found = qjs::JS_GetPropertyStr(context, made, name.as_ptr());
            assert!(found == value(number));
        }
        // A property that can't be changed.
        qjs::JS_DefinePropertyValueStr(context, made, c"five".as_ptr(), value(5), 0);
        assert!(has_properties(made, 5) && plain_names(made).is_none());
        assert!(has_properties(first, 4) && plain_names(first).is_some());
        for object in [first, second, made, empty, anchor] {
            qjs::JS_FreeValue(context, object);
        }
    }
}
