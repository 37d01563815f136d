//! Checks the types of connected ports.

use super::level::{Level, Spot};
use crate::definitions::type_name;
use crate::diagnostic::Diagnostic;
use heddle_catalogue::ValueType;

/// What is wrong with the types at the ends of a wire.
pub(crate) fn mismatch(level: &Level<'_>, wire: usize) -> Option<Diagnostic> {
    let wire = level.wires[wire];
    let (source, target) = (&level.nodes[wire.source], &level.nodes[wire.target]);
    let given = source.outputs.get(wire.source_port)?;
    let taken = target.inputs.get(wire.target_port)?;
    if source.node.disabled || target.node.disabled {
        return None;
    }
    let (given_type, taken_type) = match level.items {
        true => of_items(target, given.value_type, taken.value_type)?,
        // With `each`, arrays travel, and their elements are what the ports speak of.
        false => (
            of_each(source.each, given.value_type),
            of_each(target.each, taken.value_type),
        ),
    };
    let fit = fit(given_type, taken_type);
    if fit == Fit::Good {
        return None;
    }
    let message = format!(
        "`{}` gives {} at `{}`, but `{}` takes {}",
        source.node.id,
        article(given_type),
        given.name,
        taken.name,
        article(taken_type)
    );
    let help = Some("put a Transform between them".to_owned());
    let diagnostic = match fit {
        Fit::Bad => Diagnostic::error("type-mismatch", message),
        _ => Diagnostic::warning("type-mismatch", message),
    };
    Some(diagnostic.at_node(&target.node.id).with_help(help))
}

fn of_each(each: bool, of_one: ValueType) -> ValueType {
    match each {
        true => ValueType::Array,
        false => of_one,
    }
}

/// The types of the items that travel; none where the target takes their list, which they always are.
fn of_items(target: &Spot<'_>, given: ValueType, taken: ValueType) -> Option<(ValueType, ValueType)> {
    let takes_items = target.each || target.composite().is_some();
    // Of an array's elements nothing is known.
    let item = match given {
        ValueType::Array => ValueType::Any,
        of_one => of_one,
    };
    takes_items.then_some((item, taken))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Fit {
    Good,
    /// Some values fit.
    Doubtful,
    Bad,
}

fn fit(given: ValueType, taken: ValueType) -> Fit {
    use ValueType::{Any, Array, Integer, Number, Object};
    let structured = |value_type| matches!(value_type, Array | Object);
    match (given, taken) {
        (Any, _) | (_, Any) | (Integer, Number) => Fit::Good,
        (given, taken) if given == taken => Fit::Good,
        (given, taken) if structured(given) || structured(taken) => Fit::Bad,
        _ => Fit::Doubtful,
    }
}

fn article(value_type: ValueType) -> String {
    match value_type {
        ValueType::Any => "any value".to_owned(),
        ValueType::Array | ValueType::Object | ValueType::Integer => format!("an {}", type_name(value_type)),
        _ => format!("a {}", type_name(value_type)),
    }
}
