//! JMESPath's grammar, by operator precedence.

use super::error::QueryError;
use super::lexer::{Token, tokens};
use crate::Value;

/// A query.
#[derive(Debug)]
pub(super) enum Node {
    /// `@`
    Current,
    Field(String),
    Index(i64),
    Slice {
        start: Option<i64>,
        stop: Option<i64>,
        step: i64,
    },
    Literal(Value),
    /// `a.b`, `a | b`
    Then(Box<Node>, Box<Node>),
    Or(Box<Node>, Box<Node>),
    And(Box<Node>, Box<Node>),
    Not(Box<Node>),
    Compare(Comparison, Box<Node>, Box<Node>),
    /// The second if the first holds, else nothing.
    If(Box<Node>, Box<Node>),
    /// The second for each element of the first.
    Project(Box<Node>, Box<Node>),
    /// The values of an object.
    Values(Box<Node>),
    Flatten(Box<Node>),
    List(Vec<Node>),
    Hash(Vec<(String, Node)>),
    Call {
        name: String,
        offset: usize,
        arguments: Vec<Node>,
    },
    /// `&a`
    Expression(Box<Node>),
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
}

/// Levels of brackets, and operators one after the other: what reads and evaluates a query recurses as deep.
const NESTING_MAX: usize = 64;
const OPERATORS_MAX: usize = 500;

/// How tightly operators bind.
const PIPE: u8 = 1;
const OR: u8 = 2;
const AND: u8 = 3;
const COMPARISON: u8 = 5;
const FLATTEN: u8 = 9;
/// What binds less ends a projection.
const PROJECTION_END: u8 = 10;
const STAR: u8 = 20;
const FILTER: u8 = 21;
const DOT: u8 = 40;
const NOT: u8 = 45;
const BRACKET: u8 = 55;
const CALL: u8 = 60;

pub(super) fn parse(query: &str) -> Result<Node, QueryError> {
    let mut parser = Parser {
        tokens: tokens(query)?,
        at: 0,
        nesting: 0,
        operators: 0,
    };
    let node = parser.expression(0)?;
    match parser.peek() {
        Token::End => Ok(node),
        _ => Err(parser.unexpected()),
    }
}

struct Parser {
    tokens: Vec<(usize, Token)>,
    at: usize,
    nesting: usize,
    operators: usize,
}

type Parsed = Result<Node, QueryError>;

fn boxed(node: Node) -> Box<Node> {
    Box::new(node)
}

impl Parser {
    fn peek(&self) -> &Token {
        self.tokens.get(self.at).map_or(&Token::End, |(_, token)| token)
    }

    fn peek_second(&self) -> &Token {
        self.tokens
            .get(self.at + 1)
            .map_or(&Token::End, |(_, token)| token)
    }

    fn offset(&self) -> usize {
        let token = self.tokens.get(self.at).or(self.tokens.last());
        token.map_or(0, |(offset, _)| *offset)
    }

    fn next(&mut self) -> Token {
        let token = self.peek().clone();
        self.at += 1;
        token
    }

    /// Takes the sign if it comes next.
    fn takes(&mut self, sign: &str) -> bool {
        let found = matches!(self.peek(), Token::Sign(next) if *next == sign);
        self.at += usize::from(found);
        found
    }

    fn expects(&mut self, sign: &str) -> Result<(), QueryError> {
        match self.takes(sign) {
            true => Ok(()),
            false => Err(self.failure(format!("expected `{sign}`, found {}", self.found()))),
        }
    }

    fn found(&self) -> String {
        match self.peek() {
            Token::Name(name) | Token::Quoted(name) => format!("the name `{name}`"),
            Token::Number(number) => format!("the number {number}"),
            Token::Literal(_) => "a literal".to_owned(),
            Token::Sign(sign) => format!("`{sign}`"),
            Token::End => "the end".to_owned(),
        }
    }

    fn failure(&self, message: String) -> QueryError {
        QueryError {
            message,
            offset: self.offset(),
        }
    }

    fn unexpected(&self) -> QueryError {
        self.failure(format!("{} has no place here", self.found()))
    }

    /// Operators that bind more tightly than `least`, and what they bind.
    fn expression(&mut self, least: u8) -> Parsed {
        if self.nesting >= NESTING_MAX {
            return Err(self.failure(format!("the query nests more than {NESTING_MAX} levels")));
        }
        self.nesting += 1;
        let mut left = self.operand()?;
        while binding(self.peek()) > least {
            self.operators += 1;
            if self.operators > OPERATORS_MAX {
                return Err(self.failure(format!("the query has more than {OPERATORS_MAX} operators")));
            }
            left = self.operator(left)?;
        }
        self.nesting -= 1;
        Ok(left)
    }

    /// What an expression begins with.
    fn operand(&mut self) -> Parsed {
        let failure = self.unexpected();
        Ok(match self.next() {
            Token::Name(name) => Node::Field(name),
            Token::Quoted(name) => match self.peek() {
                Token::Sign("(") => {
                    return Err(self.failure("the name of a function has no quotes".to_owned()));
                }
                _ => Node::Field(name),
            },
            Token::Literal(value) => Node::Literal(value.0),
            Token::Sign("@") => Node::Current,
            Token::Sign("!") => Node::Not(boxed(self.expression(NOT)?)),
            Token::Sign("&") => Node::Expression(boxed(self.expression(0)?)),
            Token::Sign("(") => {
                let inner = self.expression(0)?;
                self.expects(")")?;
                inner
            }
            Token::Sign("*") => self.projected(Node::Values(boxed(Node::Current)), STAR)?,
            Token::Sign("[]") => self.projected(Node::Flatten(boxed(Node::Current)), FLATTEN)?,
            Token::Sign("[?") => self.filter(Node::Current)?,
            Token::Sign("{") => self.hash()?,
            Token::Sign("[") => match (self.peek(), self.peek_second()) {
                (Token::Number(_) | Token::Sign(":"), _) | (Token::Sign("*"), Token::Sign("]")) => {
                    self.bracket(Node::Current)?
                }
                _ => self.list()?,
            },
            _ => return Err(failure),
        })
    }

    fn operator(&mut self, left: Node) -> Parsed {
        let (offset, failure) = (self.offset(), self.unexpected());
        let sign = match self.next() {
            Token::Sign(sign) => sign,
            _ => return Err(failure),
        };
        let comparison = match sign {
            "." if self.takes("*") => return self.projected(Node::Values(boxed(left)), DOT),
            "." => {
                let right = self.after_dot(DOT)?;
                return Ok(Node::Then(boxed(left), boxed(right)));
            }
            "|" => return Ok(Node::Then(boxed(left), boxed(self.expression(PIPE)?))),
            "||" => return Ok(Node::Or(boxed(left), boxed(self.expression(OR)?))),
            "&&" => return Ok(Node::And(boxed(left), boxed(self.expression(AND)?))),
            "[]" => return self.projected(Node::Flatten(boxed(left)), FLATTEN),
            "[?" => return self.filter(left),
            "[" => return self.bracket(left),
            "(" => return self.call(left, offset),
            "==" => Comparison::Equal,
            "!=" => Comparison::NotEqual,
            "<" => Comparison::Less,
            "<=" => Comparison::LessEqual,
            ">" => Comparison::Greater,
            ">=" => Comparison::GreaterEqual,
            _ => return Err(failure),
        };
        let right = self.expression(COMPARISON)?;
        Ok(Node::Compare(comparison, boxed(left), boxed(right)))
    }

    /// Each of `list`, with what follows it.
    fn projected(&mut self, list: Node, least: u8) -> Parsed {
        let each = match self.peek() {
            token if binding(token) < PROJECTION_END => Node::Current,
            Token::Sign("[" | "[?") => self.expression(least)?,
            Token::Sign(".") => {
                self.at += 1;
                self.after_dot(least)?
            }
            _ => return Err(self.unexpected()),
        };
        Ok(Node::Project(boxed(list), boxed(each)))
    }

    fn after_dot(&mut self, least: u8) -> Parsed {
        match self.peek() {
            Token::Name(_) | Token::Quoted(_) | Token::Sign("*") => self.expression(least),
            Token::Sign("[") => {
                self.at += 1;
                self.list()
            }
            Token::Sign("{") => {
                self.at += 1;
                self.hash()
            }
            _ => Err(self.unexpected()),
        }
    }

    fn filter(&mut self, left: Node) -> Parsed {
        let condition = self.expression(0)?;
        self.expects("]")?;
        let each = match self.peek() {
            Token::Sign("[]") => Node::Current,
            _ => match self.projected(Node::Current, FILTER)? {
                Node::Project(_, each) => *each,
                other => other,
            },
        };
        let each = Node::If(boxed(condition), boxed(each));
        Ok(Node::Project(boxed(left), boxed(each)))
    }

    /// An index, a slice or `*`, after the bracket.
    fn bracket(&mut self, left: Node) -> Parsed {
        if self.takes("*") {
            self.expects("]")?;
            return self.projected(left, STAR);
        }
        if let (Token::Number(index), Token::Sign("]")) = (self.peek(), self.peek_second()) {
            let index = *index;
            self.at += 2;
            return Ok(Node::Then(boxed(left), boxed(Node::Index(index))));
        }
        let mut parts = [None; 3];
        let mut colons = 0;
        while !self.takes("]") {
            match self.peek() {
                Token::Sign(":") if colons < 2 => colons += 1,
                Token::Number(number) if parts[colons].is_none() => parts[colons] = Some(*number),
                _ => return Err(self.unexpected()),
            }
            self.at += 1;
        }
        let [start, stop, step] = parts;
        if colons == 0 || step == Some(0) {
            return Err(self.failure("a slice is `[start:stop:step]` with a step other than 0".to_owned()));
        }
        let slice = Node::Slice {
            start,
            stop,
            step: step.unwrap_or(1),
        };
        self.projected(Node::Then(boxed(left), boxed(slice)), STAR)
    }

    fn call(&mut self, left: Node, offset: usize) -> Parsed {
        let Node::Field(name) = left else {
            return Err(self.failure("only a name can be called".to_owned()));
        };
        let arguments = match self.takes(")") {
            true => Vec::new(),
            false => self.elements(")")?,
        };
        let offset = offset.saturating_sub(name.len());
        Ok(Node::Call {
            name,
            offset,
            arguments,
        })
    }

    fn list(&mut self) -> Parsed {
        self.elements("]").map(Node::List)
    }

    /// One or more, up to the sign.
    fn elements(&mut self, end: &str) -> Result<Vec<Node>, QueryError> {
        let mut elements = vec![self.expression(0)?];
        while !self.takes(end) {
            self.expects(",")?;
            elements.push(self.expression(0)?);
        }
        Ok(elements)
    }

    fn hash(&mut self) -> Parsed {
        let mut fields = Vec::new();
        loop {
            let failure = self.unexpected();
            let (Token::Name(name) | Token::Quoted(name)) = self.next() else {
                return Err(failure);
            };
            self.expects(":")?;
            fields.push((name, self.expression(0)?));
            if self.takes("}") {
                return Ok(Node::Hash(fields));
            }
            self.expects(",")?;
        }
    }
}

fn binding(token: &Token) -> u8 {
    match token {
        Token::Sign("|") => PIPE,
        Token::Sign("||") => OR,
        Token::Sign("&&") => AND,
        Token::Sign("==" | "!=" | "<" | "<=" | ">" | ">=") => COMPARISON,
        Token::Sign("[]") => FLATTEN,
        Token::Sign("*") => STAR,
        Token::Sign("[?") => FILTER,
        Token::Sign(".") => DOT,
        Token::Sign("[") => BRACKET,
        Token::Sign("(") => CALL,
        _ => 0,
    }
}
