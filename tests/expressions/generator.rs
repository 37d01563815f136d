//! Takes expressions that people wrote apart and puts them together in other ways.
//!
//! Works on text: pieces are what stands in brackets, between commas, and method calls at the end of a chain. What
//! names a node's value is made to name a field of the test's values. Not all that comes out is JavaScript, or
//! compiled; whoever asks chooses.

use fastrand::Rng;

/// Fields of the values that expressions are evaluated on.
pub const FIELDS: &[&str] = &[
    "text", "emoji", "empty", "n", "zero", "big", "list", "words", "rows", "object", "keys", "none", "flag",
    "at", "deep", "missing", "holes",
];

/// Names that Node.js does not have, or that are not the same there.
const OTHERS: &[&str] = &[
    "$",
    "DateTime",
    "Duration",
    "Math.random",
    ".floor(",
    ".ceil(",
    "average",
    "base64",
    "beginningOf",
    "chunk",
    "compact",
    "first",
    "format(",
    "hash",
    "isEmpty",
    "isNotEmpty",
    "last(",
    "minus(",
    "parseJson",
    "pluck",
    "plus(",
    "removeDuplicates",
    "toBoolean",
    "toDateTime",
    "toFloat",
    "toInt(",
    "toJsonString",
    "toNumber",
    "unique",
    "urlEncode",
    "urlDecode",
    "Date.now",
    "new Date()",
    ".sum(",
    ".min(",
    ".max(",
    ".abs(",
    ".round(",
    ".keys(",
    ".values(",
    ".isNumeric",
    ".removeTags",
    ".append(",
    ".difference(",
    ".extract",
    ".intersection(",
    ".isDomain",
    ".isEmail",
    ".isEven",
    ".isOdd",
    ".isUrl",
    "FieldsContaining",
    ".merge(",
    ".quote(",
    ".removeMarkdown",
    ".renameKeys",
    ".smartJoin",
    "toDecimalNumber",
    "toSentenceCase",
    "toSnakeCase",
    "toTitleCase",
    "toWholeNumber",
    ".union(",
    ".hasField",
    ".removeField",
    "Date()",
    "Date( )",
];

/// What follows these is no method of a value.
const GLOBALS: &[&str] = &["Array", "Date", "JSON", "Math", "Number", "Object", "String"];

/// What ours begin with, besides the forms of real ones.
const SEEDS: &[&str] = &[
    "$json.text.toUpperCase().split(' ').map(w => w.charAt(0)).join('')",
    "$json.rows.filter(r => r.ok).map(({ id, price }) => `${id}: ${Number(price).toFixed(2)}`).join('\\n')",
    "$json.rows.reduce((sum, r) => sum + Number(r.price), 0).toFixed(2)",
    "Object.entries($json.object).map(([k, v]) => k + '=' + encodeURIComponent(v)).join('&')",
    "Object.fromEntries(Object.entries($json.keys).filter(([k, v]) => v != null))",
    "[...$json.list].sort((a, b) => b - a).slice(0, 3)",
    "[...$json.words].sort().reverse().concat($json.list)",
    "$json.words.indexOf('b') >= 0 ? $json.words.lastIndexOf('a') : -1",
    "JSON.parse(JSON.stringify($json.deep))?.a?.b ?? 'none'",
    "JSON.stringify($json, null, 2).length",
    "parseInt($json.text, 10) || parseFloat($json.n) || 0",
    "String($json.n).padStart(8, '0').replace('0', 'x').replaceAll('0', '-')",
    "$json.emoji.length + $json.emoji.at(-1) + $json.emoji.codePointAt(0)",
    "$json.emoji.slice(1, 3) + $json.emoji.split('').reverse().join('')",
    "[...$json.emoji].length > 2 && $json.emoji.includes('x')",
    "typeof $json.missing === 'undefined' ? null : $json.missing.x",
    "Math.max(...$json.list.map(Number)) - Math.min(1, ...$json.list)",
    "Math.round($json.n * 100) / 100 % 7",
    "$json.list.flatMap(x => [x, [x]]).flat().some(x => x === null)",
    "$json.list.find(x => x > 1)?.toString(2) ?? $json.list.findIndex(x => !x)",
    "Object.keys($json.keys).join() + Object.values($json.keys).length",
    "({ ...$json.object, ...$json.keys, [$json.text]: 1, n: -0 })",
    "Array.from({ length: 3 }, (_, i) => i * $json.n)",
    "$json.rows.map((r, i) => ({ ...r, i })).every(r => 'id' in r)",
    "$json.rows.sort((a, b) => a.price > b.price)[0].id",
    "$json.words.toSorted((a, b) => a.localeCompare(b))",
    "new Date($json.at).toISOString().split('T')[0]",
    "new Date($json.at).getTime() / 1000 | 0",
    "$json.object.hasOwnProperty('toString') || $json.object['__proto__'] === undefined",
    "$json.flag + $json.none + $json.list + $json.object",
    "$json.n.toString(16) + $json.n.toLocaleString() + $json.big.toExponential(2)",
    "$json.zero === -0 ? 1 / $json.zero : Object.is($json.zero, 0)",
    "$json.text.trim().toLowerCase().startsWith('a') ^ 5 << 2",
    "isNaN($json.text) || Number.isInteger($json.n) && !isFinite($json.big)",
    "$json.deep.list[$json.zero].at(-1)?.[0]?.x",
    "btoa(encodeURI($json.text)) + atob('aGk=')",
    "$json.holes.map(x => x ?? 'hole').join('|') + $json.holes.length",
    "String.fromCharCode(...$json.list.map(x => x + 64))",
    "structuredClone($json.deep).list.with(0, 9).toSpliced(1, 1)",
    "$json.text.substr(-3) + $json.text.substring(3, 1) + $json.text.slice(-2)",
];

pub struct Generator {
    random: Rng,
    /// What stands by itself.
    values: Vec<String>,
    /// What follows a value: `.map(x => x.id)`, `[0]`.
    tails: Vec<String>,
}

impl Generator {
    /// Of real expressions and of our own.
    pub fn new(seed: u64, corpus: &[String]) -> Self {
        let mut generator = Generator {
            random: Rng::with_seed(seed),
            values: Vec::new(),
            tails: Vec::new(),
        };
        for source in corpus.iter().map(String::as_str).chain(SEEDS.iter().copied()) {
            let local = generator.localised(source);
            generator.take_apart(&local);
        }
        for pieces in [&mut generator.values, &mut generator.tails] {
            pieces.sort();
            pieces.dedup();
        }
        generator
    }

    /// One of many.
    pub fn next(&mut self) -> String {
        self.value(0)
    }

    fn value(&mut self, depth: usize) -> String {
        const OPERATORS: &[&str] = &[
            "+", "-", "*", "/", "%", "**", "<", "<=", ">", ">=", "==", "!=", "===", "!==", "&&", "||", "??",
            "&", "|", "^", "<<", ">>", ">>>", "in",
        ];
        const PREFIXES: &[&str] = &["!", "-", "+", "~", "typeof ", "void "];
        const AROUND: &[&str] = &[
            "String(",
            "Number(",
            "Boolean(",
            "JSON.stringify(",
            "Object.keys(",
            "Object.entries(",
            "Array.isArray(",
            "isNaN(",
            "encodeURIComponent(",
            "parseInt(",
            "Math.round(",
            "Object.is(-0, ",
            "Object.values(",
        ];
        if depth > 2 {
            return self.piece();
        }
        match self.random.u8(..20) {
            0..=3 => format!("{}{}", self.operand(depth), self.tail()),
            4 => format!("{}?{}", self.operand(depth), self.tail_of_member()),
            5..=8 => {
                let operator = self.choice(OPERATORS);
                format!(
                    "({}) {operator} ({})",
                    self.value(depth + 1),
                    self.value(depth + 1)
                )
            }
            9 => format!("{}({})", self.choice(PREFIXES), self.value(depth + 1)),
            10..=12 => format!("{}{})", self.choice(AROUND), self.value(depth + 1)),
            13 => format!(
                "({}) ? ({}) : ({})",
                self.value(depth + 1),
                self.value(depth + 1),
                self.value(depth + 1)
            ),
            14 => format!("`${{{}}} ${{{}}}`", self.value(depth + 1), self.value(depth + 1)),
            15 => format!("[{}, ...[{}]]", self.value(depth + 1), self.value(depth + 1)),
            16 => format!(
                "({{ a: {}, [{}]: 1, ...({}) }})",
                self.value(depth + 1),
                self.value(depth + 1),
                self.value(depth + 1)
            ),
            17 => {
                let inner = self.value(depth + 1);
                let field = self.choice(FIELDS).to_owned();
                format!("[].concat($input.{field}).map(x => ({inner}))")
            }
            _ => self.piece(),
        }
    }

    fn operand(&mut self, depth: usize) -> String {
        match self.random.bool() {
            true => format!("$input.{}", self.choice(FIELDS)),
            false => format!("({})", self.value(depth + 1)),
        }
    }

    fn piece(&mut self) -> String {
        match self.random.u8(..4) {
            0 => format!("$input.{}", self.choice(FIELDS)),
            _ => self.values[self.random.usize(..self.values.len())].clone(),
        }
    }

    fn tail(&mut self) -> String {
        self.tails[self.random.usize(..self.tails.len())].clone()
    }

    fn tail_of_member(&mut self) -> String {
        let tail = self.tail();
        match tail.starts_with('[') {
            true => format!(".{tail}"),
            false => tail,
        }
    }

    fn choice<'c>(&mut self, all: &[&'c str]) -> &'c str {
        all[self.random.usize(..all.len())]
    }

    /// The expression with a field of the values in place of every path from a name such as `$json`.
    fn localised(&mut self, source: &str) -> String {
        let mut out = String::new();
        let mut rest = source;
        while let Some(at) = rest.find('$') {
            let (before, path) = rest.split_at(at);
            out.push_str(before);
            let end = end_of_path(path);
            if path.starts_with("${") || end <= 1 {
                out.push('$');
                rest = &path[1..];
                continue;
            }
            let field = self.choice(FIELDS);
            out.push_str(&format!("$input.{field}"));
            rest = &path[end..];
        }
        out + rest
    }

    fn take_apart(&mut self, source: &str) {
        let source = source.trim().trim_end_matches(';');
        if source.is_empty() || source.len() > 400 || OTHERS.iter().any(|other| names(source, other)) {
            return;
        }
        self.values.push(source.to_owned());
        for (open, close) in brackets(source) {
            let inner = &source[open + 1..close];
            // What is in brackets refers to names of a function around now and then: that isn't compiled.
            for piece in top_level(inner) {
                if piece.len() < source.len() && !piece.contains("=>") {
                    self.take_apart(piece);
                }
            }
            let start = source[..open].rfind(|c: char| !c.is_ascii_alphanumeric());
            let is_call = source.as_bytes()[open] == b'(';
            match start {
                Some(dot) if is_call && source.as_bytes()[dot] == b'.' => {
                    let tail = &source[dot..=close];
                    let of_global = GLOBALS.iter().any(|global| source[..dot].ends_with(global));
                    if !of_global && !OTHERS.iter().any(|other| names(tail, other)) {
                        self.tails.push(tail.to_owned());
                    }
                }
                _ if source.as_bytes()[open] == b'[' && open > 0 => {
                    self.tails.push(source[open..=close].to_owned());
                }
                _ => {}
            }
        }
    }
}

/// Whether the source has the name, `$` standing for all but `$input`.
fn names(source: &str, other: &str) -> bool {
    match other {
        "$" => source.replace("$input", "").replace("${", "").contains('$'),
        other if other.starts_with('.') => source
            .replace("Math.", "Math")
            .replace("Object.", "Object")
            .contains(other),
        "new Date()" => {
            source.contains("new Date()") || source.contains("new Date") && !source.contains("new Date(")
        }
        other => source.contains(other),
    }
}

/// Where a path such as `$('A b').item.json["x"].y` ends; what is called at its end is no part of it.
fn end_of_path(path: &str) -> usize {
    let bytes = path.as_bytes();
    let word = |from: usize| {
        let rest = &bytes[from.min(bytes.len())..];
        from + rest
            .iter()
            .take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_')
            .count()
    };
    let mut end = word(1);
    loop {
        let next = match bytes.get(end) {
            Some(b'(') if end == 1 => closing(path, end),
            Some(b'[') => closing(path, end),
            Some(b'.') if bytes.get(end + 1) != Some(&b'.') => {
                let name = word(end + 1);
                let is_item = matches!(&path[end..name], ".first" | ".last" | ".all");
                match bytes.get(name) {
                    Some(b'(') if is_item => closing(path, name),
                    Some(b'(') => None,
                    _ => (name > end + 1).then_some(name),
                }
            }
            _ => None,
        };
        match next {
            Some(next) => end = next,
            None => return end,
        }
    }
}

/// Offset behind the bracket that closes the one at `open`.
fn closing(source: &str, open: usize) -> Option<usize> {
    brackets(source)
        .into_iter()
        .find(|(at, _)| *at == open)
        .map(|(_, close)| close + 1)
}

/// Pairs of brackets outside of strings.
fn brackets(source: &str) -> Vec<(usize, usize)> {
    let (mut open, mut pairs, mut quote) = (Vec::new(), Vec::new(), None);
    let mut characters = source.char_indices();
    while let Some((at, character)) = characters.next() {
        match (quote, character) {
            (_, '\\') => drop(characters.next()),
            (Some(end), _) if end == character => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'' | '`') => quote = Some(character),
            (None, '(' | '[') => open.push(at),
            (None, ')' | ']') => pairs.extend(open.pop().map(|start| (start, at))),
            _ => {}
        }
    }
    pairs
}

/// Pieces between the commas that are in no brackets.
fn top_level(source: &str) -> Vec<&str> {
    let (mut pieces, mut start, mut depth, mut quote) = (Vec::new(), 0, 0, None);
    for (at, character) in source.char_indices() {
        match (quote, character) {
            (Some(end), _) if end == character => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'' | '`') => quote = Some(character),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') => depth -= 1,
            (None, ',') if depth == 0 => {
                pieces.push(&source[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    pieces.push(&source[start..]);
    pieces
}
