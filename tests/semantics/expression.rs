//! Expressions as trees: printed as JavaScript for heddle, interpreted naively for the reference.

use crate::js::Js;

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Expression {
    Undefined,
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
    Array(Vec<Element>),
    Object(Vec<Property>),
    Name(Name),
    /// `root.a?.b[0]`: a nullish value before a `?.` makes the whole path undefined.
    Path(Box<Expression>, Vec<Step>),
    Unary(&'static str, Box<Expression>),
    /// Arithmetic, comparisons and bits.
    Binary(&'static str, Box<Expression>, Box<Expression>),
    /// `&&`, `||`, `??`
    Logical(&'static str, Box<Expression>, Box<Expression>),
    Conditional(Box<[Expression; 3]>),
    /// Texts and expressions in turn, beginning and ending with a text.
    Template(Vec<String>, Vec<Expression>),
}

#[derive(Clone, Debug, PartialEq)]
pub enum Element {
    Item(Expression),
    Spread(Expression),
}

#[derive(Clone, Debug, PartialEq)]
pub enum Property {
    Named(String, Expression),
    Spread(Expression),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    pub optional: bool,
    pub key: Key,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Key {
    Name(String),
    Computed(Expression),
}

/// A name that heddle gives.
#[derive(Clone, Debug, PartialEq)]
pub enum Name {
    Input,
    Json,
    Item,
    Index,
    Trigger,
    Error,
    /// `$nodes["id"]`
    Node(String),
    /// `$("Label")`: the label, and the node's id for the reference.
    Label(String, String),
    /// `$("Label").item`
    LabelItem(String, String),
}

/// Why an expression has no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// It throws.
    Throws,
    /// An item was asked for that belongs to no other: also where expressions may fail.
    Unpaired,
    /// Its value depends on something that the documents leave open.
    Open,
}

/// What names stand for.
pub trait Names {
    fn value(&self, name: &Name) -> Result<Js, Stop>;
    /// Whether what an expression throws is `undefined`.
    fn are_lenient(&self) -> bool;
}

impl Expression {
    /// The value of a whole expression.
    pub fn whole(&self, names: &dyn Names) -> Result<Js, Stop> {
        match self.evaluate(names) {
            Err(Stop::Throws) if names.are_lenient() => Ok(Js::Undefined),
            other => other,
        }
    }

    pub fn evaluate(&self, names: &dyn Names) -> Result<Js, Stop> {
        Ok(match self {
            Expression::Undefined => Js::Undefined,
            Expression::Null => Js::Null,
            Expression::Bool(value) => Js::Bool(*value),
            Expression::Number(number) => Js::Number(*number),
            Expression::Text(text) => Js::String(text.clone()),
            Expression::Array(elements) => array(elements, names)?,
            Expression::Object(properties) => object(properties, names)?,
            Expression::Name(name) => names.value(name)?,
            Expression::Path(root, steps) => path(root.evaluate(names)?, steps, names)?,
            Expression::Unary(operator, operand) => unary(operator, operand.evaluate(names)?)?,
            Expression::Binary(operator, left, right) => {
                binary(operator, &left.evaluate(names)?, &right.evaluate(names)?)?
            }
            Expression::Logical(operator, left, right) => {
                let left = left.evaluate(names)?;
                let keeps_left = match *operator {
                    "&&" => !left.truthy(),
                    "||" => left.truthy(),
                    _ => !left.is_nullish(),
                };
                if keeps_left { left } else { right.evaluate(names)? }
            }
            Expression::Conditional(parts) => {
                let [test, then, otherwise] = &**parts;
                if test.evaluate(names)?.truthy() {
                    then.evaluate(names)?
                } else {
                    otherwise.evaluate(names)?
                }
            }
            Expression::Template(texts, expressions) => {
                let mut out = texts[0].clone();
                for (expression, text) in expressions.iter().zip(&texts[1..]) {
                    out += &expression.evaluate(names)?.to_text();
                    out += text;
                }
                Js::String(out)
            }
        })
    }
}

fn array(elements: &[Element], names: &dyn Names) -> Result<Js, Stop> {
    let mut items = Vec::new();
    for element in elements {
        match element {
            Element::Item(item) => items.push(item.evaluate(names)?),
            Element::Spread(spread) => match spread.evaluate(names)? {
                Js::Array(more) => items.extend(more),
                Js::String(text) if text.is_ascii() => {
                    items.extend(text.chars().map(|c| Js::String(c.into())))
                }
                Js::String(_) => return Err(Stop::Open),
                _ => return Err(Stop::Throws),
            },
        }
    }
    Ok(Js::Array(items))
}

fn object(properties: &[Property], names: &dyn Names) -> Result<Js, Stop> {
    let mut out = Js::Object(Vec::new());
    for property in properties {
        match property {
            Property::Named(name, value) => out.set(name, value.evaluate(names)?),
            Property::Spread(spread) => match spread.evaluate(names)? {
                Js::Object(fields) => fields.into_iter().for_each(|(name, value)| out.set(&name, value)),
                // Index keys would have to be sorted before the others.
                Js::Array(items) if !items.is_empty() => return Err(Stop::Open),
                Js::String(text) if !text.is_empty() => return Err(Stop::Open),
                _ => {}
            },
        }
    }
    Ok(out)
}

fn path(root: Js, steps: &[Step], names: &dyn Names) -> Result<Js, Stop> {
    let mut value = root;
    for step in steps {
        if step.optional && value.is_nullish() {
            return Ok(Js::Undefined);
        }
        let key = match &step.key {
            Key::Name(name) => name.clone(),
            Key::Computed(key) => key.evaluate(names)?.to_text(),
        };
        // What lengths and characters an open text has is open.
        if matches!(value, Js::String(_)) && value.is_open() {
            return Err(Stop::Open);
        }
        // Half a surrogate pair is no Rust text.
        if matches!(&value, Js::String(text) if text.chars().any(|c| c.len_utf16() > 1)) && key != "length" {
            return Err(Stop::Open);
        }
        value = value.get(&key).ok_or(Stop::Throws)?;
    }
    Ok(value)
}

fn unary(operator: &str, value: Js) -> Result<Js, Stop> {
    Ok(match operator {
        "!" => Js::Bool(!value.truthy()),
        "typeof" => Js::text(value.type_of()),
        _ if value.is_open() => return Err(Stop::Open),
        "-" => Js::Number(-value.to_number()),
        "+" => Js::Number(value.to_number()),
        "~" => Js::Number(f64::from(!value.to_int32())),
        _ => unreachable!("no operator {operator}"),
    })
}

fn binary(operator: &str, left: &Js, right: &Js) -> Result<Js, Stop> {
    if operator == "+" {
        return Ok(left.add(right));
    }
    let compares_identity = operator.contains("==") || operator == "!=";
    if left.is_open() || right.is_open() || (compares_identity && left.has_identity() && right.has_identity())
    {
        return Err(Stop::Open);
    }
    let (a, b) = (left.to_number(), right.to_number());
    let (a32, b32) = (left.to_int32(), right.to_int32());
    Ok(match operator {
        "-" => Js::Number(a - b),
        "*" => Js::Number(a * b),
        "/" => Js::Number(a / b),
        "%" => Js::Number(a % b),
        "&" => Js::Number(f64::from(a32 & b32)),
        "|" => Js::Number(f64::from(a32 | b32)),
        "^" => Js::Number(f64::from(a32 ^ b32)),
        "<<" => Js::Number(f64::from(a32.wrapping_shl(b32 as u32))),
        ">>" => Js::Number(f64::from(a32.wrapping_shr(b32 as u32))),
        ">>>" => Js::Number(f64::from((a32 as u32).wrapping_shr(b32 as u32))),
        "<" => Js::Bool(left.less(right) == Some(true)),
        ">" => Js::Bool(right.less(left) == Some(true)),
        "<=" => Js::Bool(right.less(left) == Some(false)),
        ">=" => Js::Bool(left.less(right) == Some(false)),
        "==" => Js::Bool(left.loose_equal(right)),
        "!=" => Js::Bool(!left.loose_equal(right)),
        "===" => Js::Bool(left.strict_equal(right)),
        "!==" => Js::Bool(!left.strict_equal(right)),
        _ => unreachable!("no operator {operator}"),
    })
}

impl std::fmt::Display for Expression {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Expression::Undefined => write!(f, "undefined"),
            Expression::Null => write!(f, "null"),
            Expression::Bool(value) => write!(f, "{value}"),
            Expression::Number(number) => write!(f, "{number}"),
            Expression::Text(text) => write!(f, "{}", quoted(text)),
            Expression::Array(elements) => {
                let elements = elements.iter().map(|element| match element {
                    Element::Item(item) => item.to_string(),
                    Element::Spread(spread) => format!("...{spread}"),
                });
                write!(f, "[{}]", elements.collect::<Vec<_>>().join(", "))
            }
            Expression::Object(properties) => {
                let properties = properties.iter().map(|property| match property {
                    Property::Named(name, value) => format!("{name}: {value}"),
                    Property::Spread(spread) => format!("...{spread}"),
                });
                // Spaces, so that no `}}` ends the expression early.
                write!(f, "{{ {} }}", properties.collect::<Vec<_>>().join(", "))
            }
            Expression::Name(name) => write!(f, "{name}"),
            Expression::Path(root, steps) => {
                match &**root {
                    Expression::Name(name) => write!(f, "{name}")?,
                    other => write!(f, "({other})")?,
                }
                steps.iter().try_for_each(|step| write!(f, "{step}"))
            }
            Expression::Unary(operator, operand) => write!(f, "{operator} ({operand})"),
            Expression::Binary(operator, left, right) | Expression::Logical(operator, left, right) => {
                write!(f, "({left} {operator} {right})")
            }
            Expression::Conditional(parts) => {
                let [test, then, otherwise] = &**parts;
                write!(f, "({test} ? {then} : {otherwise})")
            }
            Expression::Template(texts, expressions) => {
                write!(f, "`{}", texts[0])?;
                for (expression, text) in expressions.iter().zip(&texts[1..]) {
                    write!(f, "${{ {expression} }}{text}")?;
                }
                write!(f, "`")
            }
        }
    }
}

impl std::fmt::Display for Step {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (&self.key, self.optional) {
            (Key::Name(name), true) => write!(f, "?.{name}"),
            (Key::Name(name), false) => write!(f, ".{name}"),
            (Key::Computed(key), true) => write!(f, "?.[{key}]"),
            (Key::Computed(key), false) => write!(f, "[{key}]"),
        }
    }
}

impl std::fmt::Display for Name {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Name::Input => write!(f, "$input"),
            Name::Json => write!(f, "$json"),
            Name::Item => write!(f, "$item"),
            Name::Index => write!(f, "$index"),
            Name::Trigger => write!(f, "$trigger"),
            Name::Error => write!(f, "$error"),
            Name::Node(id) => write!(f, "$nodes[{}]", quoted(id)),
            Name::Label(label, _) => write!(f, "$({})", quoted(label)),
            Name::LabelItem(label, _) => write!(f, "$({}).item", quoted(label)),
        }
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
