//! The expression tree: the compiled subset of JavaScript, with every name resolved.

use heddle_values::methods::{Global, Method};

#[derive(Clone, Debug, PartialEq)]
pub enum Expression {
    /// `undefined`
    Undefined,
    /// `null`
    Null,
    /// `true`, `false`
    Bool(bool),
    Number(f64),
    /// A string, as JSON text when it has lone surrogates.
    String(Literal),
    /// `[a, ...b]`
    Array(Vec<Element>),
    /// `{ a, [k]: b, ...c }`
    Object(Vec<Property>),
    /// A heddle name.
    Name(Name),
    /// `object.name` or `object["name"]`
    Member(Box<Expression>, String),
    /// `object[key]`
    Index(Box<Expression>, Box<Expression>),
    /// `object?.…` inside a [`Expression::Chain`]: when the object is nullish, the chain is `undefined`.
    Optional(Box<Expression>),
    /// The extent of an optional chain.
    Chain(Box<Expression>),
    /// `!a`, `-a`, `typeof a`, …
    Unary(Unary, Box<Expression>),
    /// `a + b`, …
    Binary(Binary, Box<Expression>, Box<Expression>),
    /// `a && b`, `a || b`, `a ?? b`
    Logical(Logical, Box<Expression>, Box<Expression>),
    /// `a ? b : c`
    Conditional(Box<Expression>, Box<Expression>, Box<Expression>),
    /// A template literal: quasis and expressions in turn, `quasis.len() == expressions.len() + 1`.
    Template(Vec<Literal>, Vec<Expression>),
    /// The text of a value as it stands among other text of a parameter.
    Text(Box<Expression>),
    /// `(a, b)`
    Sequence(Vec<Expression>),
    /// `a.b(c)`
    Method(Box<MethodCall>),
    /// `Math.max(a, ...b)`
    Global(Global, Vec<Element>),
    /// `x => body`, as an argument of what calls it before it returns. Its parameters are read by
    /// [`Expression::Parameter`].
    Lambda(Box<Expression>),
    /// A parameter of the innermost function (`up` 0) or of one around it, or what [`Expression::Let`] gave it.
    Parameter {
        /// Functions between.
        up: u32,
        /// Below [`heddle_values::methods::CALLBACK_ARGUMENTS_MAX`] an argument, from there on a `Let`.
        index: u32,
    },
    /// In a function: the parameter of this index has this value in the body.
    Let(u32, Box<Expression>, Box<Expression>),
    /// A call of the JavaScript engine.
    Script(Box<Script>),
    /// A part of a script that is evaluated before it is known whether it is needed: `[part]`, or the message with
    /// which it failed.
    Attempt(Box<Expression>),
}

impl Expression {
    /// Whether the JavaScript engine evaluates the whole of it.
    pub fn is_script(&self) -> bool {
        matches!(self, Expression::Script(_))
    }
}

/// What the JavaScript engine evaluates.
#[derive(Clone, Debug, PartialEq)]
pub struct Script {
    /// An expression whose value is a function.
    pub source: String,
    /// What that function is called with.
    pub arguments: Vec<Expression>,
}

/// `receiver.method(...arguments)`
#[derive(Clone, Debug, PartialEq)]
pub struct MethodCall {
    /// What the method is called on.
    pub receiver: Expression,
    pub method: Method,
    /// `receiver.method?.()`: when there is no such method, the chain around is `undefined`.
    pub optional: bool,
    pub arguments: Vec<Element>,
}

/// A string constant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Literal {
    /// Well-formed text.
    Utf8(String),
    /// JSON text of a string with lone surrogates, quotes included.
    Json(String),
}

/// Part of an array literal.
#[derive(Clone, Debug, PartialEq)]
pub enum Element {
    /// `a`
    Item(Expression),
    /// `...a`
    Spread(Expression),
}

/// Part of an object literal.
#[derive(Clone, Debug, PartialEq)]
pub enum Property {
    /// `name: a`
    Named(String, Expression),
    /// `[key]: a`
    Computed(Expression, Expression),
    /// `...a`
    Spread(Expression),
}

/// A name that heddle gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Name {
    /// `$input`, `$json`
    Input,
    /// `$item`
    Item,
    /// `$input.all()`, where a node executes for each item: the list of which `$input` is one.
    InputList,
    /// `$index`
    Index,
    /// `$a`
    First,
    /// `$b`
    Second,
    /// `$trigger`
    Trigger,
    /// `$run`
    Run,
    /// `$vars`
    Vars,
    /// `$secrets.NAME`
    Secret(String),
    /// `$error`
    Error,
    /// `$nodes["id"]`, `$("Label")`: plan index
    NodeOutput(u32),
    /// `$("Label").item`: plan index
    NodeItem(u32),
    /// `$random()`
    Random,
    /// `$uuid()`
    Uuid,
}

/// Unary operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unary {
    /// `!`
    Not,
    /// `-`
    Negate,
    /// `+`
    Plus,
    /// `~`
    BitNot,
    /// `typeof`
    TypeOf,
    /// `void`
    Void,
}

/// Binary operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binary {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `%`
    Remainder,
    /// `**`
    Power,
    /// `&`
    BitAnd,
    /// `|`
    BitOr,
    /// `^`
    BitXor,
    /// `<<`
    ShiftLeft,
    /// `>>`
    ShiftRight,
    /// `>>>`
    ShiftRightUnsigned,
    /// `<`
    Less,
    /// `<=`
    LessEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterEqual,
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `===`
    StrictEqual,
    /// `!==`
    StrictNotEqual,
    /// `in`
    In,
}

/// Short-circuiting operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Logical {
    /// `&&`
    And,
    /// `||`
    Or,
    /// `??`
    Nullish,
}
