//! How QuickJS lays out objects, which its C interface does not tell, and objects made by that.
//!
//! The names of an object's properties are a shape, which objects share that got the same ones in the same order. Given
//! properties one by one, an object goes through a shape for each of them, and mostly every one is made anew: that takes
//! ten times as long as all the rest. Here an object is given the shape of another one, and all values at once.
//!
//! [`check`] is executed when the snapshot is made: with a QuickJS that lays out objects otherwise, there is none.

use rquickjs::qjs;

/// Where fields are, in bytes, in structures of `quickjs.c`.
mod offset {
    /// Of `JSMallocBlockHeader`, which is before what it counts the references to: `ref_count`.
    pub const REFERENCES: usize = 4;
    /// Of `JSObject`: `shape`, and `prop`, the list of its values.
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
}

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

/// Whether an object has so many properties, and others can be [`make_like`] it.
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

/// The names of an object's properties in their order, which the object goes on owning, if others can be [`make_like`] it and
/// all properties are as those that are written in code, so that their values are in the list.
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

/// Gives an object that has just been made the properties of another one and what it inherits, with these values, which it
/// takes. Does nothing and says so if there is no memory.
///
/// # Safety
/// Both are plain objects of this context, and alive. The first one has no properties, the other one as many as there are
/// values, as [`has_properties`] says. The values are owned.
pub unsafe fn make_like(
    context: *mut qjs::JSContext,
    object: qjs::JSValue,
    like: qjs::JSValue,
    values: &[qjs::JSValue],
) -> bool {
    let (object, like) = (Structure::of(object), Structure::of(like));
    // SAFETY: by the caller. The list is the object's own, and gets as much room as the shape says, which is at least for as
    // many values as there are properties. References to both shapes are counted.
    unsafe {
        let (empty, shape) = (object.follow(offset::SHAPE), like.follow(offset::SHAPE));
        // The last one would have to be freed. There are others: the realm keeps an empty object.
        if empty.references().read() < 2 {
            return false;
        }
        let runtime = qjs::JS_GetRuntime(context);
        let bytes = shape.word(offset::ROOM).read() * size_of::<qjs::JSValue>() as u32;
        let list = qjs::js_realloc_rt(runtime, object.follow(offset::VALUES).0.cast(), bytes);
        if list.is_null() {
            return false;
        }
        std::ptr::copy_nonoverlapping(values.as_ptr(), list.cast(), values.len());
        object.word(offset::VALUES).write(list.expose_provenance() as u32);
        object
            .word(offset::SHAPE)
            .write(shape.0.expose_provenance() as u32);
        *shape.references() += 1;
        *empty.references() -= 1;
    }
    true
}

/// Panics unless objects are laid out as is said here.
///
/// # Safety
/// The context is alive.
pub unsafe fn check(context: *mut qjs::JSContext) {
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
        qjs::JS_DeleteProperty(context, second, atoms[3], 0);
        for atom in atoms {
            qjs::JS_FreeAtom(context, atom);
        }
        let changed = shape(second);
        assert!(changed.word(offset::COUNT).read() == 4 && changed.word(offset::DELETED).read() == 1);
        assert!(!changed.is_sharable() && !has_properties(second, 4));
        let others = shape(empty).references().read();
        assert!(make_like(context, empty, first, &expected));
        assert!(shape(anchor).references().read() == others - 1);
        assert!(shape(empty) == shape(first) && shape(first).references().read() == 2);
        for (number, name) in names.iter().enumerate() {
            let found = qjs::JS_GetPropertyStr(context, empty, name.as_ptr());
            assert!(found == value(number));
        }
        // A property that can't be changed.
        qjs::JS_DefinePropertyValueStr(context, empty, c"five".as_ptr(), value(5), 0);
        assert!(has_properties(empty, 5) && plain_names(empty).is_none());
        assert!(has_properties(first, 4) && plain_names(first).is_some());
        for object in [first, second, empty, anchor] {
            qjs::JS_FreeValue(context, object);
        }
    }
}
