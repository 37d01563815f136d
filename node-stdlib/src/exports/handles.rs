//! The values behind handles: the stack of those being computed, and the plan's constants.
//!
//! Whoever calls compiled code marks the stack and releases it afterwards.

use heddle_contract::plan::{ConstantView, View};
use heddle_values::{Array, JSON_DEPTH_MAX, JsonTexts, Near, Object, Shape, Value};
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
    Resolved(&'static List),
}

/// A list that is read again and again.
struct List {
    names: Vec<Resolved>,
    /// As the names of an object, if they can be that.
    shape: OnceCell<Option<Shape>>,
}

/// A name of a list.
pub(super) struct Resolved {
    pub value: &'static Value,
    /// Where objects have had it.
    pub near: Near,
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

/// The names of a list in the plan, as constants.
pub(super) fn read_names(names: i32) -> impl Iterator<Item = &'static Value> {
    let constants = CONSTANTS.get();
    let list = constants.plan.unwrap_or_default().names(names as u32);
    list.iter().filter_map(move |name| constants.get(name as usize))
}

/// A list of names in the plan that has been read before. It is resolved once for all when it is read for the second time:
/// in a short run most are read once.
fn resolved(names: i32) -> Option<&'static List> {
    let index = names as u32 as usize;
    NAMES.with_borrow_mut(|lists| match lists.get_mut(index) {
        Some(Names::Resolved(list)) => Some(*list),
        Some(seen @ Names::Read) => {
            let resolved = |value| Resolved {
                value,
                near: Near::default(),
            };
            let list = List {
                names: read_names(names).map(resolved).collect(),
                shape: OnceCell::new(),
            };
            let list: &'static List = Box::leak(Box::new(list));
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
    })
}

/// The names of a list in the plan that has been read before, with where objects have had them.
#[inline]
pub(super) fn resolved_names(names: i32) -> Option<&'static [Resolved]> {
    resolved(names).map(|list| list.names.as_slice())
}

/// An object whose names are those of a list, with the values of these handles.
pub(super) fn object_of(names: i32, items: &[i32]) -> Object {
    let Some(list) = resolved(names) else {
        let properties = read_names(names).zip(items);
        return Object::of_properties(properties.map(|(name, item)| (name.to_text(), value(*item))));
    };
    let texts = || list.names.iter().map(|name| name.value.to_text());
    match list.shape.get_or_init(|| Shape::of_names(texts().collect()).ok()) {
        Some(shape) if shape.len() <= items.len() => {
            let items = items.iter().take(shape.len());
            let values = HANDLES
                .with_borrow(|handles| items.map(|item| read_of(handles, *item, Value::clone)).collect());
            Object::of_shape(shape.clone(), values)
        }
        _ => Object::of_properties(texts().zip(items).map(|(name, item)| (name, value(*item)))),
    }
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
        return reader(constant(handle));
    }
    HANDLES.with_borrow(|handles| read_of(handles, handle, reader))
}

#[inline]
fn constant(handle: i32) -> &'static Value {
    CONSTANTS.get().get(!handle as usize).unwrap_or(&Value::Undefined)
}

#[inline]
fn read_of<T>(handles: &[Value], handle: i32, reader: impl FnOnce(&Value) -> T) -> T {
    if handle < 0 {
        return reader(constant(handle));
    }
    let handle = handle as usize;
    match handle.checked_sub(FIXED) {
        Some(at) => reader(handles.get(at).unwrap_or(&Value::Undefined)),
        None => reader(&fixed(handle)),
    }
}

/// Whether the value of a handle is truthy.
#[inline]
pub(super) fn is_truthy(handle: i32) -> bool {
    match handle {
        heddle_contract::abi::TRUE => true,
        heddle_contract::abi::UNDEFINED..=heddle_contract::abi::FALSE => false,
        _ => read(handle, Value::truthy),
    }
}

/// Reads the values of two handles, without counting references. `reader` must not make handles.
pub(super) fn read_both<T>(first: i32, second: i32, reader: impl FnOnce(&Value, &Value) -> T) -> T {
    read(first, |first| read(second, |second| reader(first, second)))
}

/// The value of a handle.
pub(super) fn value(handle: i32) -> Value {
    read(handle, Value::clone)
}

/// The value of a handle that a function gives when it returns, which forgets the handles made since `mark`. One from before
/// is somebody else's, though no module of ours gives one.
pub(super) fn returned(handle: i32, mark: usize) -> Value {
    if handle < FIXED as i32 {
        release(mark);
        return value(handle);
    }
    HANDLES.with_borrow_mut(|handles| {
        let at = handle as usize - FIXED;
        let value = match handles.get_mut(at) {
            Some(own) if at >= mark => std::mem::take(own),
            other => other.cloned().unwrap_or_default(),
        };
        handles.truncate(mark);
        value
    })
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

/// Forgets the handles made since `mark`.
pub(super) fn release(mark: usize) {
    HANDLES.with_borrow_mut(|handles| handles.truncate(mark));
}
