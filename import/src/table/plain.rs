//! Recognises code that is certain to do the same here as in n8n: it reads its items, and otherwise only what JavaScript has
//! everywhere and what it declares itself. Looks at names alone, and takes what it does not know for code that differs. Also
//! recognises code that may change what it was given.

mod declared;
mod held;
mod members;
mod targets;
mod tokens;

use crate::scan::is_name_byte;
use declared::Declared;
use targets::{Target, targets};
use tokens::{Token, Tokens, is_keyword, unquoted};

/// Longer code is not looked at.
const BYTES_MAX: usize = 64 << 10;

/// What is the same in every engine, time zone and language.
const BUILT_IN: &[&str] = &[
    "Array",
    "Boolean",
    "Error",
    "Infinity",
    "JSON",
    "Map",
    "Math",
    "NaN",
    "Number",
    "Object",
    "RangeError",
    "RegExp",
    "Set",
    "String",
    "TypeError",
    "console",
    "decodeURI",
    "decodeURIComponent",
    "encodeURI",
    "encodeURIComponent",
    "isFinite",
    "isNaN",
    "parseFloat",
    "parseInt",
    "undefined",
];
/// Properties of which that is not so. In a module, what can't be changed throws where n8n overlooks the change. n8n freezes what
/// is built in, and replaces what asks for prototypes or defines properties. The last match of a regular expression is V8's own.
const DEPENDENT: &[&str] = &[
    "$1",
    "$2",
    "$3",
    "$4",
    "$5",
    "$6",
    "$7",
    "$8",
    "$9",
    "__defineGetter__",
    "__defineSetter__",
    "__proto__",
    "callee",
    "caller",
    "captureStackTrace",
    "constructor",
    "defineProperties",
    "defineProperty",
    "freeze",
    "getPrototypeOf",
    "isExtensible",
    "isFrozen",
    "isSealed",
    "lastMatch",
    "lastParen",
    "leftContext",
    "localeCompare",
    "prepareStackTrace",
    "preventExtensions",
    "rightContext",
    "seal",
    "setPrototypeOf",
    "stack",
    "toLocaleLowerCase",
    "toLocaleString",
    "toLocaleUpperCase",
];
/// Methods that sort by what a function says. Where it contradicts itself, each engine has an order of its own.
const SORTING: &[&str] = &["sort", "toSorted"];
/// Methods of prototypes that are called for what may not have them.
const BORROWED: &[&str] = &["concat", "hasOwnProperty", "slice", "toString"];

/// Methods that change what they are called of, or what they are given.
const CHANGING: &[&str] = &[
    "assign",
    "copyWithin",
    "defineProperties",
    "defineProperty",
    "fill",
    "pop",
    "push",
    "reverse",
    "setPrototypeOf",
    "shift",
    "sort",
    "splice",
    "unshift",
];

/// Code, read once for all that is asked about it.
pub(super) struct Reading<'c> {
    code: &'c str,
    /// None of code that is too long.
    tokens: Option<Tokens<'c>>,
}

impl<'c> Reading<'c> {
    pub fn of(code: &'c str) -> Reading<'c> {
        Reading {
            code,
            tokens: (code.len() <= BYTES_MAX).then(|| Tokens::of(code)),
        }
    }

    /// Whether code has this, such as `f(`, outside of texts and comments.
    pub fn has(&self, wanted: &str) -> bool {
        match &self.tokens {
            Some(tokens) => tokens.has(&Tokens::of(wanted)),
            None => self.code.contains(wanted),
        }
    }

    /// Whether code has a text that is this and nothing else.
    pub fn has_text(&self, wanted: &str) -> bool {
        let Some(tokens) = &self.tokens else {
            return self.code.contains(wanted);
        };
        tokens
            .iter()
            .any(|(_, token)| matches!(token, Token::Text(text) if unquoted(text) == wanted))
    }

    /// The first of these members that code may use of the object that a name stands for.
    pub fn member_of(&self, object: &'c str, members: &[&'static str]) -> Option<&'static str> {
        match &self.tokens {
            Some(tokens) => members::used(tokens, object, members),
            None => members.iter().copied().find(|member| has_name(self.code, member)),
        }
    }

    /// Whether a function that gets these names does the same everywhere.
    pub fn is_plain(&self, given: &[&str]) -> bool {
        let Some(tokens) = &self.tokens else { return false };
        let Some(declared) = Declared::of(tokens) else {
            return false;
        };
        let is_known = |name: &str| {
            given.contains(&name) || is_keyword(name) || BUILT_IN.contains(&name) || declared.count(name) > 0
        };
        let is_plain = |(at, token): (usize, Token<'_>)| match token {
            Token::Name(name) => {
                let is_property = tokens.is_property(at);
                let is_key = tokens.is_sign(at + 1, ":") && tokens.is_sign(at.checked_sub(1), "{,");
                (is_property || is_key || is_known(name)) && !is_dependent(tokens, at, name)
            }
            // Numbers of eight digits, and those without an end.
            Token::Number(digits) => !digits.ends_with('n') && !is_octal(digits),
            Token::Text(text) => {
                let name = unquoted(text);
                let is_name = tokens.is_sign(at.checked_sub(1), "[{,") && tokens.is_sign(at + 1, "]:");
                let is_index = tokens.is_sign(at.checked_sub(1), "[") && tokens.is_sign(at + 1, "]");
                let is_method = SORTING.contains(&name) || name == "prototype";
                !(is_name && DEPENDENT.contains(&name) || is_index && is_method)
            }
            _ => true,
        };
        tokens.iter().all(is_plain) && held::sets_objects(tokens, &declared, given)
    }

    /// Whether values may change that code was given: it sets, deletes or counts up a property, or calls what changes its object.
    pub fn may_change(&self) -> bool {
        let Some(tokens) = &self.tokens else { return true };
        let calls = |(at, token): (usize, Token<'_>)| match token {
            Token::Name(name) => name == "Reflect" || CHANGING.contains(&name),
            Token::Text(text) => CHANGING.contains(&unquoted(text)),
            // A method whose name is computed.
            Token::Sign(']') => tokens.is_sign(at + 1, "("),
            _ => false,
        };
        let sets = |target: Target<'_>| !matches!(target, Target::Name(_));
        tokens.iter().any(calls) || targets(tokens).into_iter().any(sets)
    }
}

/// Whether what a name stands for is not the same everywhere.
fn is_dependent(tokens: &Tokens<'_>, at: usize, name: &str) -> bool {
    let is_called = |at: usize| {
        let by = tokens.is_sign(at + 1, ".") && tokens.is_name(at + 2, &["apply", "call"]);
        by && tokens.is_sign(at + 3, "(") && tokens.is_name(at, BORROWED)
    };
    match name {
        "prototype" => !(tokens.is_sign(at + 1, ".") && is_called(at + 2)),
        // What it knows of the last match.
        "RegExp" => tokens.is_sign(at + 1, ".[?"),
        _ if SORTING.contains(&name) && tokens.is_property(at) => match tokens.is_sign(at + 1, "(") {
            true => !sorts_by_difference(tokens, at + 1),
            // Handed on, or called in another way.
            false => tokens.is_sign(at + 1, ".[?"),
        },
        _ => DEPENDENT.contains(&name),
    }
}

/// Whether what is between brackets is nothing, or a function of one expression that subtracts and compares nothing. Of what is
/// neither less nor more, `a > b` says the contrary in the other order, and so does `a > b ? 1 : -1`.
fn sorts_by_difference(tokens: &Tokens<'_>, opening: usize) -> bool {
    let Some(closing) = tokens.partner(opening) else {
        return false;
    };
    if closing == opening + 1 {
        return true;
    }
    let head = tokens
        .partner(opening + 1)
        .filter(|_| tokens.is_sign(opening + 1, "("));
    let Some(arrow) = head.map(|head| head + 1) else {
        return false;
    };
    let body = arrow + 2;
    if !tokens.is_sign(arrow, "=") || !tokens.is_sign(arrow + 1, ">") || tokens.is_sign(body, "{") {
        return false;
    }
    let goes_on = |at: usize| {
        // `?.` and `??` choose nothing by a comparison.
        let is_other = tokens.is_sign(at + 1, ".?") || tokens.is_sign(at.checked_sub(1), "?");
        tokens.is_sign(at, "?") && is_other
    };
    let is_subtracting = (body + 1..closing).any(|at| tokens.is_sign(at, "-") && tokens.ends_operand(at - 1));
    let compares = (body..closing).any(|at| match tokens.get(at) {
        Some(Token::Sign('?')) => !goes_on(at),
        Some(Token::Sign(sign)) => "<>=!&".contains(sign),
        Some(Token::Name(name)) => matches!(name, "in" | "instanceof" | "random"),
        _ => false,
    });
    is_subtracting && !compares
}

/// Whether a name stands in the code by itself.
fn has_name(code: &str, name: &str) -> bool {
    let is_part = |byte: Option<&u8>| byte.is_some_and(|byte| is_name_byte(*byte));
    let bytes = code.as_bytes();
    code.match_indices(name).any(|(at, _)| {
        let before = at.checked_sub(1).and_then(|before| bytes.get(before));
        !is_part(before) && !is_part(bytes.get(at + name.len()))
    })
}

fn is_octal(digits: &str) -> bool {
    digits.len() > 1 && digits.starts_with('0') && digits.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::{BYTES_MAX, Reading};

    /// What nests or repeats, as often as there is room: before, and after.
    const HOSTILE: &[(&str, &str)] = &[
        ("(", ")=>1"),
        ("(a=(", ")=>1)=>1"),
        ("function(", ")"),
        ("let{", "}"),
        ("const{a:[", "]}=b"),
        ("const a=[", "]"),
        ("catch(a", ")"),
        ("{", "}=1"),
        ("[", "]=1"),
        ("[a=[", "]]=b"),
        ("a[", "]++"),
        ("--a[", "]"),
        ("delete a[", "]"),
        ("for([", "]of b)"),
        ("for(a(", ")of b)"),
        (".map()", ""),
        ("items.map(", ")"),
        ("a.b.c=", ""),
        ("+", "="),
        (".sort((a,b)=>a-b", ")"),
        ("{Info", "}=builtInLuxon"),
        ("{}=builtInLuxon ", ".Info"),
    ];

    #[test]
    fn code_is_read_in_linear_work() {
        for (before, after) in HOSTILE {
            let times = (BYTES_MAX - "items".len()) / (before.len() + after.len());
            let code = format!("items{}{}", before.repeat(times), after.repeat(times));
            let reading = Reading::of(&code);
            reading.is_plain(&["items"]);
            reading.may_change();
            reading.member_of("builtInLuxon", &["Info"]);
            let tokens = reading.tokens.as_ref().expect("short enough");
            let (asked, most) = (tokens.asked(), 200 * code.len());
            assert!(
                asked <= most,
                "{before}…{after}: {asked} tokens read, {most} allowed"
            );
        }
    }

    #[test]
    fn lists_of_names_within_each_other_are_understood() {
        let code = "const f = ({ a: { b, c: [d, { e = ({ g: [h] }) => h }] } }, i = (j, k = (l) => l) => j + k) => b + d + i;";
        assert!(Reading::of(code).is_plain(&[]));
        assert!(!Reading::of(&format!("{code} m")).is_plain(&[]));
    }
}
