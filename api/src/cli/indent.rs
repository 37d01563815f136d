//! Line breaks for JSON text. Works on the text itself, so that numbers stay as they are written and depth costs nothing.

/// Valid JSON, two more spaces for each level; empty objects and arrays stay on one line.
pub fn indented(json: &str) -> String {
    let mut out = String::with_capacity(json.len() * 2);
    let mut depth = 0usize;
    let mut rest = json.trim_start();
    while let Some(c) = rest.chars().next() {
        let mut length = c.len_utf8();
        match c {
            '{' | '[' => {
                out.push(c);
                let after = rest[length..].trim_start();
                if let Some(close) = after.chars().next().filter(|c| matches!(c, '}' | ']')) {
                    out.push(close);
                    length = rest.len() - after.len() + close.len_utf8();
                } else {
                    depth += 1;
                    new_line(&mut out, depth);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                new_line(&mut out, depth);
                out.push(c);
            }
            ',' => {
                out.push(c);
                new_line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            '"' => {
                length = string_length(rest);
                out.push_str(&rest[..length]);
            }
            c => out.push(c),
        }
        rest = rest[length..].trim_start();
    }
    out
}

fn new_line(out: &mut String, depth: usize) {
    out.push('\n');
    out.extend(std::iter::repeat_n("  ", depth));
}

/// Bytes of the string literal that the text begins with.
fn string_length(text: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::indented;

    #[test]
    fn structure_is_indented_and_texts_are_left_alone() {
        let json = r#" {"a":[1.50,{ },[ ],{"é\"{,":"\\"}], "b" :100000000000000000000,"c":null} "#;
        let expected = "{\n  \"a\": [\n    1.50,\n    {},\n    [],\n    {\n      \"é\\\"{,\": \"\\\\\"\n    }\n  ],\n  \"b\": 100000000000000000000,\n  \"c\": null\n}";
        assert_eq!(indented(json), expected);
        assert_eq!(indented("null"), "null");
        assert_eq!(indented("[]"), "[]");
    }
}
