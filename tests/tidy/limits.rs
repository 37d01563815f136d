//! What pages say of limits is what the sources have: limits.txt lists claims of pages, each with a constant.

use super::root;
use std::fs;
use syn::visit::{self, Visit};
use syn::{BinOp, Expr, ExprCall, FieldValue, ItemConst, Lit, Member};

const CLAIMS: &str = include_str!("limits.txt");
/// Constants that are made of constants, and so on.
const DEPTH_MAX: u32 = 4;
/// Numbers that pages write as words.
const WORDS: &[&str] = &[
    "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen",
];

/// A claim, as limits.txt has it.
struct Claim<'t> {
    page: &'t str,
    /// A part of the row or paragraph that makes it, and of no other one.
    place: &'t str,
    says: &'t str,
    file: &'t str,
    constant: &'t str,
}

#[test]
fn limits_of_pages_are_those_of_the_sources() {
    let mut wrong = Vec::new();
    let claims = claims();
    assert!(claims.len() > 250, "the claims were not found: {}", claims.len());
    for claim in &claims {
        let Claim {
            page,
            place,
            says,
            file,
            constant,
        } = claim;
        let blocks = blocks(&read(page));
        let places: Vec<&String> = blocks.iter().filter(|block| block.contains(place)).collect();
        match places.as_slice() {
            [block] if has(block, says) => {}
            [_] => wrong.push(format!("{page}, “{place}”, does not say “{says}”")),
            places => wrong.push(format!("{page} has “{place}” {} times", places.len())),
        }
        let source = syn::parse_file(&read(file)).unwrap();
        let mut values = Values::default();
        values.visit_file(&source);
        let (told, value) = (number_of(says), values.named(constant, DEPTH_MAX));
        if value.is_none() || told != value {
            wrong.push(format!(
                "{page}, “{place}”, says “{says}” ({told:?}), and {constant} of {file} is {value:?}"
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "pages and sources differ (tests/tidy/limits.txt):\n{}",
        wrong.join("\n")
    );
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn claims() -> Vec<Claim<'static>> {
    let (mut page, mut place) = ("", "");
    let mut claims = Vec::new();
    for line in CLAIMS.lines() {
        if let Some(named) = line.strip_prefix("# ") {
            page = named;
        } else if let Some(named) = line.strip_prefix("## ") {
            place = named;
        } else if !line.is_empty() && !line.starts_with("//") {
            let (says, of) = line.rsplit_once(" = ").unwrap();
            let (file, constant) = of.split_once(' ').unwrap();
            claims.push(Claim {
                page,
                place,
                says,
                file,
                constant,
            });
        }
    }
    claims
}

/// Rows of tables, items of lists and paragraphs, each on one line.
fn blocks(page: &str) -> Vec<String> {
    let mut blocks: Vec<String> = Vec::new();
    let mut goes_on = false;
    for line in page.lines() {
        let is_row = line.starts_with('|');
        let text = line.trim();
        match blocks.last_mut() {
            Some(block) if goes_on && !is_row && !text.is_empty() && !is_item(line) => {
                block.push(' ');
                block.push_str(text);
            }
            _ if text.is_empty() => {}
            _ => blocks.push(text.to_owned()),
        }
        goes_on = !is_row && !text.is_empty();
    }
    blocks
}

/// Whether a line begins an item of a list.
fn is_item(line: &str) -> bool {
    let behind = line.trim_start_matches(|c: char| c.is_ascii_digit());
    line.starts_with("- ") || (behind.len() < line.len() && behind.starts_with(". "))
}

/// Whether a block says this, and not only a larger number that ends like it.
fn has(block: &str, says: &str) -> bool {
    let goes_before = |c: char| c.is_ascii_digit() || c == ',';
    block
        .match_indices(says)
        .any(|(at, _)| !block[..at].ends_with(goes_before))
}

/// The first number of a claim, times what its unit is: bytes, or milliseconds.
fn number_of(says: &str) -> Option<i128> {
    let words: Vec<&str> = says
        .split_whitespace()
        .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()))
        .collect();
    let (at, number) = words
        .iter()
        .enumerate()
        .find_map(|(at, word)| Some((at, number(word)?)))?;
    let unit = match words.get(at + 1).copied().unwrap_or_default() {
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        "s" | "second" | "seconds" => 1_000,
        "minute" | "minutes" => 60_000,
        "hour" | "hours" => 3_600_000,
        "day" | "days" => 86_400_000,
        _ => 1,
    };
    Some(number * unit)
}

fn number(word: &str) -> Option<i128> {
    match WORDS.iter().position(|known| *known == word) {
        Some(at) => i128::try_from(at + 1).ok(),
        None => word.replace(',', "").parse().ok(),
    }
}

/// The constants of a file, and what its fields are given, by name.
#[derive(Default)]
struct Values<'f>(Vec<(String, &'f Expr)>);

impl<'f> Visit<'f> for Values<'f> {
    fn visit_item_const(&mut self, constant: &'f ItemConst) {
        let value: &Expr = &constant.expr;
        self.0.push((constant.ident.to_string(), value));
        visit::visit_item_const(self, constant);
    }

    fn visit_field_value(&mut self, field: &'f FieldValue) {
        if let Member::Named(name) = &field.member {
            self.0.push((name.to_string(), &field.expr));
        }
        visit::visit_field_value(self, field);
    }
}

impl Values<'_> {
    /// The first value of this name that is a number.
    fn named(&self, name: &str, depth: u32) -> Option<i128> {
        let depth = depth.checked_sub(1)?;
        let mut of_name = self.0.iter().filter(|(known, _)| known == name);
        of_name.find_map(|(_, value)| self.value(value, depth))
    }

    /// A number, or a time in milliseconds.
    fn value(&self, expr: &Expr, depth: u32) -> Option<i128> {
        match expr {
            Expr::Lit(literal) => match &literal.lit {
                Lit::Int(number) => number.base10_parse().ok(),
                Lit::Float(number) => number.base10_digits().strip_suffix(".0")?.parse().ok(),
                _ => None,
            },
            Expr::Paren(inner) => self.value(&inner.expr, depth),
            Expr::Cast(cast) => self.value(&cast.expr, depth),
            Expr::Path(path) => {
                let name = path.path.segments.last()?.ident.to_string();
                self.named(&name, depth)
            }
            Expr::Binary(both) => {
                let left = self.value(&both.left, depth)?;
                let right = self.value(&both.right, depth)?;
                match both.op {
                    BinOp::Add(_) => left.checked_add(right),
                    BinOp::Mul(_) => left.checked_mul(right),
                    BinOp::Div(_) => left.checked_div(right),
                    BinOp::Shl(_) => left.checked_shl(u32::try_from(right).ok()?),
                    _ => None,
                }
            }
            Expr::Call(call) => self.time(call, depth),
            _ => None,
        }
    }

    fn time(&self, call: &ExprCall, depth: u32) -> Option<i128> {
        let Expr::Path(function) = &*call.func else {
            return None;
        };
        let unit = match function.path.segments.last()?.ident.to_string().as_str() {
            "from_secs" => 1_000,
            "from_millis" => 1,
            _ => return None,
        };
        let number = self.value(call.args.first()?, depth)?;
        number.checked_mul(unit)
    }
}
