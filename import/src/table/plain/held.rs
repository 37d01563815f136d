//! What names hold in code: the items, one item, or an object of which code knows that it is one. Setting a property of a text or
//! number fails in a module, and n8n overlooks it; so it matters that nothing of the kind is set.

use super::declared::Declared;
use super::targets::{Target, targets};
use super::tokens::{Token, Tokens};
use std::collections::HashMap;

/// Methods of lists that give a function each element.
const OF_EACH: &[&str] = &["every", "filter", "find", "flatMap", "forEach", "map", "some"];
/// How far `$input` is from the last bracket of `$input.all()`.
const LISTS_CALL: usize = 4;

/// What names hold wherever they are declared, as often as that is known.
pub(super) struct Held<'t, 'c> {
    tokens: &'t Tokens<'c>,
    declared: &'t Declared<'c>,
    given: &'t [&'t str],
    lists: HashMap<&'c str, usize>,
    items: HashMap<&'c str, usize>,
    objects: HashMap<&'c str, usize>,
    /// How often constants are declared among these, and how often names are set; a declaration sets its name.
    constants: HashMap<&'c str, usize>,
    set: HashMap<&'c str, usize>,
    /// Whether an item gets other content.
    sets_json: bool,
}

/// Whether all that code sets are names of its own, properties of objects that it has made, and fields of items.
pub(super) fn sets_objects<'c>(tokens: &Tokens<'c>, declared: &Declared<'c>, given: &[&str]) -> bool {
    let found = targets(tokens);
    let mut held = Held::new(tokens, declared, given, &found);
    held.read();
    found.iter().all(|target| match target {
        Target::Name(name) => {
            let is_own = declared.count(name) > 0 || given.contains(name);
            // What is called by its own name within an expression can't be set: a module fails there.
            is_own && !declared.is_function(name)
        }
        Target::Property(at) => held.is_object(*at),
        Target::Unknown => false,
    })
}

impl<'t, 'c> Held<'t, 'c> {
    fn new(
        tokens: &'t Tokens<'c>,
        declared: &'t Declared<'c>,
        given: &'t [&'t str],
        found: &[Target<'c>],
    ) -> Held<'t, 'c> {
        let mut set: HashMap<&'c str, usize> = HashMap::new();
        for target in found {
            if let Target::Name(name) = target {
                *set.entry(*name).or_default() += 1;
            }
        }
        let is_json = |at: usize| tokens.is_sign(at, ".") && tokens.is_name(at + 1, &["json"]);
        Held {
            tokens,
            declared,
            given,
            lists: HashMap::new(),
            items: HashMap::new(),
            objects: HashMap::new(),
            constants: HashMap::new(),
            set,
            sets_json: found
                .iter()
                .any(|target| matches!(target, Target::Property(at) if is_json(*at))),
        }
    }

    /// Reads the declarations, from the first to the last.
    fn read(&mut self) {
        let tokens = self.tokens;
        for (at, token) in tokens.iter() {
            match token {
                Token::Name("const") => self.constant(at + 1),
                Token::Name("for") if tokens.is_sign(at + 1, "(") => self.of_loop(at + 2),
                Token::Name(_) | Token::Sign(')') => self.of_each(at),
                _ => {}
            }
        }
    }

    /// `name = value`, or `{ json } = item`.
    fn constant(&mut self, at: usize) {
        let Some((name, is_json, end)) = self.bound(at) else {
            return;
        };
        if !self.tokens.is_sign(end, "=") {
            return;
        }
        let value = end + 1;
        if is_json {
            let ends = self.item(value).is_some_and(|end| self.ends(end));
            if ends && !self.sets_json {
                add(&mut self.objects, name);
            }
            return;
        }
        add(&mut self.constants, name);
        if self.tokens.is_sign(value, "{[") {
            let end = self.tokens.partner(value).map(|closing| closing + 1);
            if end.is_some_and(|end| self.ends(end)) {
                add(&mut self.objects, name);
            }
        } else if self.list(value).is_some_and(|end| self.ends(end)) {
            add(&mut self.lists, name);
        } else if let Some(end) = self.item(value) {
            if self.ends(end) {
                add(&mut self.items, name);
            } else if self.is_json(end) && self.ends(end + 2) && !self.sets_json {
                add(&mut self.objects, name);
            }
        }
    }

    /// `const name of list)`, or `const { json } of list)`.
    fn of_loop(&mut self, at: usize) {
        if !self.tokens.is_name(at, &["const", "let"]) {
            return;
        }
        let Some((name, is_json, end)) = self.bound(at + 1) else {
            return;
        };
        if !self.tokens.is_name(end, &["of"]) {
            return;
        }
        let closes = self
            .list(end + 1)
            .is_some_and(|end| self.tokens.is_sign(end, ")"));
        if closes {
            self.element(name, is_json);
        }
    }

    /// `list.map(name =>`, `list.map((name, index) =>`, `list.map(function (name)` and the like, where the list ends at a place.
    fn of_each(&mut self, at: usize) {
        let method = at + 2;
        let is_method = self.tokens.is_sign(at + 1, ".") && self.tokens.is_name(method, OF_EACH);
        if !is_method || !self.tokens.is_sign(method + 1, "(") {
            return;
        }
        // Behind `.map().map()` and so on there may be any number of calls, of which none is a list of items by itself.
        let start = match self.tokens.get(at) {
            Some(Token::Sign(_)) => at.checked_sub(LISTS_CALL),
            _ => Some(at),
        };
        if start.and_then(|start| self.list(start)) != Some(at + 1) {
            return;
        }
        let mut first = method + 2;
        first += usize::from(self.tokens.is_name(first, &["async"]));
        first += usize::from(self.tokens.is_name(first, &["function"]));
        let is_listed = self.tokens.is_sign(first, "(");
        let Some((name, is_json, end)) = self.bound(first + usize::from(is_listed)) else {
            return;
        };
        let is_bound = match is_listed {
            true => self.tokens.is_sign(end, ",)"),
            false => self.tokens.is_sign(end, "=") && self.tokens.is_sign(end + 1, ">"),
        };
        if is_bound {
            self.element(name, is_json);
        }
    }

    fn element(&mut self, name: &'c str, is_json: bool) {
        match is_json {
            true if self.sets_json => {}
            true => add(&mut self.objects, name),
            false => add(&mut self.items, name),
        }
    }

    /// `name` or `{ json }`: the name, whether it is the latter, and what is behind it.
    fn bound(&self, at: usize) -> Option<(&'c str, bool, usize)> {
        match self.tokens.get(at)? {
            Token::Name(name) => Some((name, false, at + 1)),
            Token::Sign('{') if self.tokens.is_sign(at + 2, "}") => match self.tokens.get(at + 1)? {
                Token::Name(name @ "json") => Some((name, true, at + 3)),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether a value ends before this.
    fn ends(&self, at: usize) -> bool {
        match self.tokens.get(at) {
            None | Some(Token::Sign(';' | ',' | '}')) => true,
            Some(Token::Name(name)) => !matches!(name, "in" | "instanceof"),
            _ => false,
        }
    }

    /// Whether a name always holds what it is known to hold.
    fn holds(&self, known: &HashMap<&'c str, usize>, name: &str) -> bool {
        let count = |counts: &HashMap<&'c str, usize>| counts.get(name).copied().unwrap_or_default();
        let is_set_only_there = count(&self.set) == count(&self.constants);
        count(known) > 0 && count(known) == self.declared.count(name) && is_set_only_there
    }

    /// Whether this is a name that code is given, and neither declares nor sets.
    fn is_given(&self, name: &str) -> bool {
        self.given.contains(&name) && self.declared.count(name) == 0 && !self.set.contains_key(name)
    }

    /// Where a list of items ends that begins here.
    fn list(&self, at: usize) -> Option<usize> {
        match self.tokens.get(at)? {
            Token::Name(_) if self.tokens.is_property(at) => None,
            Token::Name("items") if self.is_given("items") => Some(at + 1),
            Token::Name("$input") => self.called(at, &["all"]),
            Token::Name(name) => self.holds(&self.lists, name).then_some(at + 1),
            _ => None,
        }
    }

    /// Where one item ends that begins here.
    fn item(&self, at: usize) -> Option<usize> {
        if let Some(end) = self.list(at) {
            let closing = self.tokens.partner(end).filter(|_| self.tokens.is_sign(end, "["));
            return closing.map(|closing| closing + 1);
        }
        match self.tokens.get(at)? {
            Token::Name("$input") if self.is_given("$input") && self.tokens.is_sign(at + 1, ".") => {
                match self.tokens.is_name(at + 2, &["item"]) {
                    true => Some(at + 3),
                    false => self.called(at, &["first", "last"]),
                }
            }
            Token::Name(name) if !self.tokens.is_property(at) => {
                self.holds(&self.items, name).then_some(at + 1)
            }
            _ => None,
        }
    }

    /// Where `$input.all()` and the like end.
    fn called(&self, at: usize, methods: &[&str]) -> Option<usize> {
        let tokens = self.tokens;
        let is_call = self.is_given("$input")
            && tokens.is_sign(at + 1, ".")
            && tokens.is_name(at + 2, methods)
            && tokens.is_sign(at + 3, "(")
            && tokens.is_sign(at + 4, ")");
        is_call.then_some(at + 5)
    }

    /// Whether `.json` stands there.
    fn is_json(&self, at: usize) -> bool {
        self.tokens.is_sign(at, ".") && self.tokens.is_name(at + 1, &["json"])
    }

    /// Whether the property whose dot or bracket stands there is one of an object, or the content of an item.
    fn is_object(&self, at: usize) -> bool {
        let start = at.checked_sub(1).and_then(|end| self.start(end));
        let Some(start) = start else { return false };
        if let Some(end) = self.item(start) {
            let is_field = self.is_json(end) && end + 2 == at && !self.sets_json;
            return is_field || (end == at && self.is_json(at));
        }
        let Some(Token::Name(name)) = self.tokens.get(start).filter(|_| start + 1 == at) else {
            return false;
        };
        // The old node for each item calls its content so.
        (name == "item" && self.is_given("item")) || self.holds(&self.objects, name)
    }

    /// Where `a.b[0].c()` begins that ends at a place.
    fn start(&self, end: usize) -> Option<usize> {
        let mut at = end;
        loop {
            match self.tokens.get(at)? {
                Token::Name(_) if self.tokens.is_property(at) => at = at.checked_sub(2)?,
                Token::Name(_) => return Some(at),
                Token::Sign(')' | ']') => {
                    at = self.tokens.partner(at).filter(|opening| *opening < at)?;
                    at = at.checked_sub(1)?;
                }
                _ => return None,
            }
        }
    }
}

fn add<'c>(counts: &mut HashMap<&'c str, usize>, name: &'c str) {
    *counts.entry(name).or_default() += 1;
}
