//! The values behind handles: the stack of those being computed, and the plan's constants.
//!
//! Whoever calls compiled code marks the stack and releases it afterwards.

use heddle_contract::plan::{ConstantView, View};
use heddle_values::{Array, JSON_DEPTH_MAX, JsonTexts, Object, Value};
use std::cell::{Cell, OnceCell, RefCell};

thread_local! {
    static HANDLES: RefCell<Vec<Value>> = const { RefCell::new(Vec::new()) };
    static CONSTANTS: Cell<Constants> = const { Cell::new(Constants::NONE) };
    static NAMES: RefCell<Vec<Names>> = const { RefCell::new(Vec::new()) };
    static JSON: RefCell<JsonTexts> = RefCell::default();
}

/// What is known of a list of names in the plan.
#[derive(Clone, Copy)]
enum Names {
    Unread,
    Read,
    Resolved(&'static [&'static Value]),
}

/// The plan's constants, each made when it is first read.
#[derive(Clone, Copy)]
struct Constants {
    plan: Option<View<'static>>,
    made: &'static [OnceCell<Value>],
}

impl Constants {
    const NONE: Self = Constants {
        plan: None,
        made: &[],
    };

    fn get(self, index: usize) -> Option<&'static Value> {
        let plan = self.plan?;
        let cell = self.made.get(index)?;
        Some(cell.get_or_init(|| match plan.constant(index as u32) {
            ConstantView::Number(number) => Value::Number(number),
            ConstantView::Text(text) => text.into(),
            ConstantView::Json(json) => {
                JSON.with_borrow_mut(|texts| texts.parse(json, JSON_DEPTH_MAX).unwrap_or_default())
            }
        }))
    }
}

/// Takes the constants of the run's plan.
pub(super) fn begin(plan: View<'static>) {
    let made = (0..plan.constant_count()).map(|_| OnceCell::new());
    let made = Vec::leak(made.collect());
    CONSTANTS.set(Constants {
        plan: Some(plan),
        made,
    });
}

/// Lists of names beyond are never resolved once for all; no plan of ours has so many.
const LISTS_MAX: usize = 1 << 20;

/// A list of names in the plan, as constants. Resolved once for all when it is read for the second time: in a short run
/// most are read once.
pub(super) fn names_at(names: i32) -> impl Iterator<Item = &'static Value> {
    let index = names as u32 as usize;
    let constants = CONSTANTS.get();
    let read = move || {
        let list = constants.plan.unwrap_or_default().names(names as u32);
        list.iter().filter_map(move |name| constants.get(name as usize))
    };
    let resolved = NAMES.with_borrow_mut(|lists| match lists.get_mut(index) {
        Some(Names::Resolved(list)) => Some(*list),
        Some(seen @ Names::Read) => {
            let list: &'static [&'static Value] = Vec::leak(read().collect());
            *seen = Names::Resolved(list);
            Some(list)
        }
        Some(unread @ Names::Unread) => {
            *unread = Names::Read;
            None
        }
        None if index < LISTS_MAX => {
            lists.resize(index + 1, Names::Unread);
            lists[index] = Names::Read;
            None
        }
        None => None,
    });
    let unresolved = resolved.is_none().then(read);
    let resolved = resolved.unwrap_or_default().iter().copied();
    resolved.chain(unresolved.into_iter().flatten())
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
        Value::Undefined => heddle_contract::abi::UNDEFINED,
        Value::Null => heddle_contract::abi::NULL,
        Value::Bool(false) => heddle_contract::abi::FALSE,
        Value::Bool(true) => heddle_contract::abi::TRUE,
        value => HANDLES.with_borrow_mut(|handles| {
            handles.push(value);
            (handles.len() - 1 + FIXED) as i32
        }),
    }
}

/// Reads the value of a handle. `reader` must not make handles.
pub(super) fn read<T>(handle: i32, reader: impl FnOnce(&Value) -> T) -> T {
    if handle < 0 {
        return reader(CONSTANTS.get().get(!handle as usize).unwrap_or(&Value::Undefined));
    }
    let handle = handle as usize;
    HANDLES.with_borrow(|handles| match handle.checked_sub(FIXED) {
        Some(at) => reader(handles.get(at).unwrap_or(&Value::Undefined)),
        None => reader(&fixed(handle)),
    })
}

/// Reads the values of two handles, without counting references. `reader` must not make handles.
pub(super) fn read_both<T>(first: i32, second: i32, reader: impl FnOnce(&Value, &Value) -> T) -> T {
    read(first, |first| read(second, |second| reader(first, second)))
}

/// The value of a handle.
pub(super) fn value(handle: i32) -> Value {
    read(handle, Value::clone)
}

/// The value of a handle that nobody reads any more.
pub(super) fn take(handle: i32) -> Value {
    change(handle, std::mem::take).unwrap_or_else(|| value(handle))
}

/// Changes the value of a handle in place; `None` if there is none.
pub(super) fn change<T>(handle: i32, changer: impl FnOnce(&mut Value) -> T) -> Option<T> {
    let at = usize::try_from(handle).ok()?.checked_sub(FIXED)?;
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

/// The first handle that is made at this height.
pub(super) fn first_after(mark: usize) -> i32 {
    (mark + FIXED) as i32
}

/// Forgets the handles made since `mark`.
pub(super) fn release(mark: usize) {
    HANDLES.with_borrow_mut(|handles| handles.truncate(mark));
}
