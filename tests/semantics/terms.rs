//! Random expressions, parameters and events.

use crate::expression::{Element, Expression, Key, Name, Property, Step};
use crate::graph::Parameter;
use fastrand::Rng;
use serde_json::{Value, json};

/// What the expressions of a node may name.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    /// Ids, and labels where there are some, of the nodes that may have run.
    pub nodes: Vec<(String, Option<String>)>,
    pub has_item: bool,
    /// In a node with `each`.
    pub has_origins: bool,
    pub has_error: bool,
    pub has_trigger: bool,
}

const FIELDS: &[&str] = &[
    "a", "b", "c", "n", "items", "nums", "k", "v", "s", "error", "code", "length",
];
const TEXTS: &[&str] = &["", "x", "a b", "é", "7", "true", "\"q\"", "B", "\u{1f600}"];
const NUMBERS: &[f64] = &[0.0, 1.0, 2.0, 3.0, 7.0, 10.0, -1.0, 0.5, 2.25, 100.0, 1e21];

/// One of the options, of which there is at least one.
pub fn pick<T: Clone>(rng: &mut Rng, options: &[T]) -> T {
    options[rng.usize(..options.len())].clone()
}

/// True in `percent` of 100 cases.
pub fn chance(rng: &mut Rng, percent: u32) -> bool {
    rng.u32(..100) < percent
}

/// An expression at most `depth` operators deep.
pub fn expression(rng: &mut Rng, scope: &Scope, depth: u32) -> Expression {
    if depth == 0 || chance(rng, 25) {
        return if chance(rng, 70) {
            path(rng, scope)
        } else {
            literal(rng)
        };
    }
    let mut term = || Box::new(expression(rng, scope, depth - 1));
    let (a, b, c) = (term(), term(), term());
    match rng.u32(..100) {
        0..25 => {
            let arithmetic = [
                "+", "+", "+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>", ">>>",
            ];
            Expression::Binary(pick(rng, &arithmetic), a, b)
        }
        25..42 => {
            let comparisons = ["<", "<=", ">", ">=", "==", "!=", "===", "!=="];
            Expression::Binary(pick(rng, &comparisons), a, b)
        }
        42..55 => Expression::Logical(pick(rng, &["&&", "||", "??", "??"]), a, b),
        55..65 => Expression::Conditional(Box::new([*a, *b, *c])),
        65..73 => Expression::Template(vec!["<".to_owned(), " ".to_owned(), ">".to_owned()], vec![*a, *b]),
        73..80 => Expression::Unary(pick(rng, &["!", "!", "-", "+", "~", "typeof"]), a),
        80..88 => Expression::Array(match rng.u32(..4) {
            0 => vec![],
            1 => vec![Element::Spread(or_empty_array(rng, scope)), Element::Item(*a)],
            2 => vec![Element::Item(*a)],
            _ => vec![Element::Item(*a), Element::Item(*b), Element::Item(*c)],
        }),
        _ => {
            let mut properties = vec![
                Property::Named("a".to_owned(), *a),
                Property::Named(pick(rng, FIELDS).to_string(), *b),
            ];
            if chance(rng, 40) {
                let at = rng.usize(..=properties.len());
                properties.insert(at, Property::Spread(path(rng, scope)));
            }
            Expression::Object(properties)
        }
    }
}

fn or_empty_array(rng: &mut Rng, scope: &Scope) -> Expression {
    if chance(rng, 20) {
        return path(rng, scope);
    }
    let array = array_path(rng, scope);
    Expression::Logical("??", Box::new(array), Box::new(Expression::Array(vec![])))
}

/// A path to what is an array in most events.
fn array_path(rng: &mut Rng, scope: &Scope) -> Expression {
    let root = if scope.has_trigger {
        Name::Trigger
    } else {
        Name::Input
    };
    let key = Key::Name(pick(rng, &["items", "nums", "rows"]).to_string());
    Expression::Path(
        Box::new(Expression::Name(root)),
        vec![Step { optional: true, key }],
    )
}

/// An expression for `items`: nearly always an array.
pub fn items(rng: &mut Rng, scope: &Scope) -> Parameter {
    match rng.u32(..10) {
        0..5 => Parameter::Expression(or_empty_array(rng, scope)),
        5..7 => Parameter::Array((0..rng.u32(..4)).map(|_| value(rng, scope, 1)).collect()),
        7 => Parameter::Json(json!([1, 2, 3])),
        8 => Parameter::Expression(path(rng, scope)),
        _ => Parameter::Expression(Expression::Array(vec![
            Element::Item(path(rng, scope)),
            Element::Spread(or_empty_array(rng, scope)),
        ])),
    }
}

fn path(rng: &mut Rng, scope: &Scope) -> Expression {
    let root = name(rng, scope);
    let steps = match rng.u32(..10) {
        0..2 => 0,
        2..8 => 1,
        _ => 2,
    };
    let steps = (0..steps).map(|_| {
        let optional = chance(rng, 85);
        let key = match rng.u32(..10) {
            0 => Key::Computed(Expression::Number(f64::from(rng.u32(..3)))),
            1 => Key::Computed(Expression::Text(pick(rng, FIELDS).to_string())),
            _ => Key::Name(pick(rng, FIELDS).to_string()),
        };
        Step { optional, key }
    });
    let steps: Vec<_> = steps.collect();
    if steps.is_empty() {
        Expression::Name(root)
    } else {
        Expression::Path(Box::new(Expression::Name(root)), steps)
    }
}

fn name(rng: &mut Rng, scope: &Scope) -> Name {
    match rng.u32(..100) {
        0..15 if scope.has_item => Name::Item,
        15..25 if scope.has_item => Name::Index,
        25..40 if scope.has_error => Name::Error,
        40..60 if !scope.nodes.is_empty() => match pick(rng, &scope.nodes) {
            (id, Some(label)) if scope.has_origins => Name::LabelItem(label, id),
            (id, Some(label)) if rng.bool() => Name::Label(label, id),
            (id, _) => Name::Node(id),
        },
        60..75 if scope.has_trigger => Name::Trigger,
        75..85 => Name::Json,
        _ => Name::Input,
    }
}

fn literal(rng: &mut Rng) -> Expression {
    match rng.u32(..10) {
        0 => Expression::Undefined,
        1 => Expression::Null,
        2 => Expression::Bool(rng.bool()),
        3..7 => Expression::Number(pick(rng, NUMBERS)),
        _ => Expression::Text(pick(rng, TEXTS).to_string()),
    }
}

/// Any parameter value.
pub fn value(rng: &mut Rng, scope: &Scope, depth: u32) -> Parameter {
    match rng.u32(..10) {
        0..5 => Parameter::Expression(expression(rng, scope, depth)),
        5 | 6 => text(rng, scope),
        7 if depth > 0 => {
            let fields = ["a", "b", "items"].iter().take(rng.usize(1..=3));
            let fields: Vec<_> = fields
                .map(|name| ((*name).to_owned(), value(rng, scope, depth - 1)))
                .collect();
            Parameter::Object(fields)
        }
        8 if depth > 0 => Parameter::Array((0..rng.u32(..4)).map(|_| value(rng, scope, depth - 1)).collect()),
        _ => Parameter::Json(json(rng, 1)),
    }
}

/// Text with expressions among it.
pub fn text(rng: &mut Rng, scope: &Scope) -> Parameter {
    let count = rng.usize(1..=2);
    let mut texts = vec![String::new(); count + 1];
    texts
        .iter_mut()
        .for_each(|text| text.push_str(pick(rng, &["", "t ", "é:", " - "])));
    // Something must stand beside the expressions, or else it is an expression alone.
    texts[0].push_str(pick(rng, &["m ", "value="]));
    Parameter::Text(texts, (0..count).map(|_| expression(rng, scope, 1)).collect())
}

pub fn condition(rng: &mut Rng, scope: &Scope) -> Parameter {
    if chance(rng, 4) {
        return Parameter::Json(Value::Bool(rng.bool()));
    }
    Parameter::Expression(match rng.u32(..3) {
        0 => path(rng, scope),
        1 => Expression::Binary(
            pick(rng, &["<", ">=", "===", "!=", "<="]),
            Box::new(path(rng, scope)),
            Box::new(literal(rng)),
        ),
        _ => expression(rng, scope, 2),
    })
}

/// A JSON value.
pub fn json(rng: &mut Rng, depth: u32) -> Value {
    match rng.u32(..if depth == 0 { 8 } else { 11 }) {
        0 => Value::Null,
        1 => Value::Bool(rng.bool()),
        2..5 => json!(rng.i32(-3..12)),
        5 => json!(1.5),
        6 | 7 => json!(pick(rng, TEXTS)),
        8 => (0..rng.u32(..4)).map(|_| json(rng, depth - 1)).collect(),
        _ => json!({"a": json(rng, depth - 1), "k": json(rng, 0), "s": pick(rng, TEXTS)}),
    }
}

/// An event: mostly an object whose fields the expressions name.
pub fn event(rng: &mut Rng) -> Value {
    if chance(rng, 4) {
        return json(rng, 2);
    }
    let items: Value = (0..rng.u32(..4))
        .map(|_| json!({"k": rng.i32(0..3), "v": json(rng, 0), "s": pick(rng, TEXTS)}))
        .collect();
    let rows: Value = (0..rng.u32(..3))
        .map(|_| json!([json(rng, 0), json(rng, 0)]))
        .collect();
    json!({
        "a": rng.i32(-5..50), "b": pick(rng, TEXTS), "c": rng.bool(), "n": null, "items": items,
        "nums": (0..rng.u32(..5)).map(|_| json!(rng.i32(-5..20))).collect::<Value>(), "rows": rows,
        "v": json(rng, 2),
    })
}
