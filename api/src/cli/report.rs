//! Compiler-style messages: what is wrong, where, the line with carets under it, and what to do.
//!
//! Knows nothing about patterns. The text is styled with escape codes, which the writer removes where they can't be
//! shown.

use anstyle::{AnsiColor, Style};
use std::fmt::{self, Display, Formatter, Write};
use std::ops::Range;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

const ERROR: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const GUTTER: Style = AnsiColor::Blue.on_default().bold();
const HELP: Style = AnsiColor::Cyan.on_default().bold();
const BOLD: Style = Style::new().bold();

/// Columns of a source line that are shown; longer ones are cut around the carets.
const LINE_COLUMNS_MAX: usize = 120;
/// Lines of a span that are shown.
const LINES_MAX: usize = 6;

/// Line and column in a file, both from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub line: usize,
    /// Column in characters.
    pub column: usize,
}

/// A message being put together.
#[derive(Clone, Debug, Default)]
pub struct Report {
    warning: bool,
    code: Option<String>,
    message: String,
    file: Option<String>,
    place: Option<Place>,
    context: Option<String>,
    excerpt: Option<(String, Range<usize>, LineNumbers)>,
    help: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineNumbers {
    /// Counted from this one, at which the excerpt begins; none, when it is all of one line.
    OfExcerpt(Option<usize>),
    /// The excerpt is this line of the file.
    OfFile,
}

impl Report {
    pub fn error(message: &str) -> Self {
        Report {
            message: message.to_owned(),
            ..Report::default()
        }
    }

    pub fn warning(message: &str) -> Self {
        Report {
            warning: true,
            ..Report::error(message)
        }
    }

    /// The rule or error code, shown in brackets.
    pub fn code(mut self, code: &str) -> Self {
        self.code = Some(code.to_owned());
        self
    }

    /// The file that it is about.
    pub fn in_file(mut self, file: &str) -> Self {
        self.file = Some(file.to_owned());
        self
    }

    /// The place in the file.
    pub fn at(mut self, place: Place) -> Self {
        self.place = Some(place);
        self
    }

    /// What stands there, for example a node's name and parameter.
    pub fn context(mut self, context: String) -> Self {
        self.context = Some(context);
        self
    }

    /// The file's line at the report's place, and the bytes of it that are meant.
    pub fn with_line(mut self, line: &str, span: Range<usize>) -> Self {
        self.excerpt = Some((line.to_owned(), span, LineNumbers::OfFile));
        self
    }

    /// A text, the bytes of it that are meant, and the number of its first line if it is one of several.
    pub fn with_excerpt(mut self, text: &str, span: Range<usize>, line: Option<usize>) -> Self {
        self.excerpt = Some((text.to_owned(), span, LineNumbers::OfExcerpt(line)));
        self
    }

    /// Adds a hint on how to fix the problem.
    pub fn help(mut self, help: &str) -> Self {
        self.help = Some(help.to_owned());
        self
    }
}

impl Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (style, word) = if self.warning {
            (WARNING, "warning")
        } else {
            (ERROR, "error")
        };
        match &self.code {
            Some(code) => write!(f, "{style}{word}[{code}]{style:#}")?,
            None => write!(f, "{style}{word}{style:#}")?,
        }
        writeln!(f, "{BOLD}: {}{BOLD:#}", printable(&self.message))?;
        let lines = self.excerpt_lines();
        let gutter = lines
            .iter()
            .map(|line| line.number.len())
            .max()
            .unwrap_or(0)
            .max(1);
        if self.file.is_some() || self.context.is_some() {
            write!(f, "{:gutter$}{GUTTER}-->{GUTTER:#} ", "")?;
            self.write_place(f)?;
        }
        if !lines.is_empty() {
            writeln!(f, "{:gutter$} {GUTTER}|{GUTTER:#}", "")?;
        }
        for line in lines {
            writeln!(f, "{GUTTER}{:>gutter$} |{GUTTER:#} {}", line.number, line.text)?;
            if line.carets > 0 {
                let carets = "^".repeat(line.carets);
                writeln!(
                    f,
                    "{:gutter$} {GUTTER}|{GUTTER:#} {:indent$}{style}{carets}{style:#}",
                    "",
                    "",
                    indent = line.indent
                )?;
            }
        }
        if let Some(help) = &self.help {
            let mut help_lines = help.lines();
            writeln!(
                f,
                "{:gutter$} {GUTTER}={GUTTER:#} {HELP}help{HELP:#}: {}",
                "",
                printable(help_lines.next().unwrap_or(""))
            )?;
            for line in help_lines {
                writeln!(f, "{:gutter$}         {}", "", printable(line))?;
            }
        }
        Ok(())
    }
}

impl Report {
    fn write_place(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            f.write_str(file)?;
            if let Some(Place { line, column }) = self.place {
                write!(f, ":{line}:{column}")?;
            }
        }
        match &self.context {
            Some(context) if self.file.is_some() => writeln!(f, ": {}", printable(context)),
            Some(context) => writeln!(f, "{}", printable(context)),
            None => writeln!(f),
        }
    }

    fn excerpt_lines(&self) -> Vec<ShownLine> {
        let Some((text, span, numbers)) = &self.excerpt else {
            return Vec::new();
        };
        let mut shown = Vec::new();
        let mut start = 0;
        for (index, line) in text.split('\n').enumerate() {
            let end = start + line.len();
            // A span ends before `span.end`; an empty one still has a place.
            if span.start <= end && (span.end > start || span.start >= start) {
                if shown.len() == LINES_MAX {
                    shown.push(ShownLine {
                        number: "…".to_owned(),
                        ..ShownLine::default()
                    });
                    break;
                }
                let number = match (numbers, self.place) {
                    (LineNumbers::OfFile, Some(place)) => place.line.to_string(),
                    (LineNumbers::OfExcerpt(Some(first)), _) => (first + index).to_string(),
                    _ => String::new(),
                };
                let within = span.start.saturating_sub(start).min(line.len())
                    ..span.end.saturating_sub(start).min(line.len());
                shown.push(ShownLine::new(number, line, within));
            }
            start = end + 1;
        }
        shown
    }
}

#[derive(Default)]
struct ShownLine {
    number: String,
    text: String,
    /// Columns before the carets.
    indent: usize,
    carets: usize,
}

impl ShownLine {
    fn new(number: String, line: &str, span: Range<usize>) -> Self {
        let (mut before, mut meant, mut after) = match (
            line.get(..span.start),
            line.get(span.clone()),
            line.get(span.end..),
        ) {
            (Some(before), Some(meant), Some(after)) => {
                (printable(before), printable(meant), printable(after))
            }
            _ => (String::new(), printable(line), String::new()),
        };
        if before.width() + meant.width() + after.width() > LINE_COLUMNS_MAX {
            before = last_columns(&before, LINE_COLUMNS_MAX / 2);
            meant = first_columns(&meant, LINE_COLUMNS_MAX / 2);
            after = first_columns(&after, LINE_COLUMNS_MAX / 4);
        }
        ShownLine {
            number,
            indent: before.width(),
            carets: meant.width().max(1),
            text: format!("{before}{meant}{after}"),
        }
    }
}

/// The text with tabs as spaces and without control characters, which could move the cursor or hide text.
pub fn printable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\t' => out.push_str("    "),
            '\r' => {}
            '\n' => out.push_str("\n      "),
            c if c.is_control() => {
                let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out
}

/// The first columns of a text, with an ellipsis when it goes on.
pub fn first_columns(text: &str, columns_max: usize) -> String {
    if text.width() <= columns_max {
        return text.to_owned();
    }
    let mut columns = 0;
    let mut out: String = text
        .chars()
        .take_while(|c| fits(*c, &mut columns, columns_max))
        .collect();
    out.push('…');
    out
}

fn last_columns(text: &str, columns_max: usize) -> String {
    if text.width() <= columns_max {
        return text.to_owned();
    }
    let mut columns = 0;
    let tail: Vec<char> = text
        .chars()
        .rev()
        .take_while(|c| fits(*c, &mut columns, columns_max))
        .collect();
    std::iter::once('…').chain(tail.into_iter().rev()).collect()
}

/// Adds a character's columns; whether they still fit beside an ellipsis.
fn fits(c: char, columns: &mut usize, columns_max: usize) -> bool {
    *columns += c.width().unwrap_or(0);
    *columns < columns_max
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(report: &Report) -> String {
        anstream::adapter::strip_str(&report.to_string()).to_string()
    }

    #[test]
    fn carets_stand_under_what_they_mean() {
        let text = "first\n\t日本 + nope\nlast";
        let at = text.find("nope").unwrap();
        let report = Report::error("no such name")
            .code("unknown-name")
            .in_file("p.json")
            .at(Place { line: 3, column: 9 })
            .context("node `a`".to_owned())
            .with_excerpt(text, at..at + 4, Some(1))
            .help("did you mean `nape`?");
        insta::assert_snapshot!(plain(&report), @r"
    error[unknown-name]: no such name
     --> p.json:3:9: node `a`
      |
    2 |     日本 + nope
      |            ^^^^
      = help: did you mean `nape`?
    ");
    }

    #[test]
    fn spans_may_be_empty_long_or_reach_over_lines() {
        insta::assert_snapshot!(plain(&Report::warning("ends here").with_excerpt("a +", 3..3, None)), @r"
    warning: ends here
      |
      | a +
      |    ^
    ");
        insta::assert_snapshot!(plain(&Report::error("over lines").with_excerpt("a(\nb,\nc)d", 1..8, Some(1))), @r"
    error: over lines
      |
    1 | a(
      |  ^
    2 | b,
      | ^^
    3 | c)d
      | ^^
    ");
        let long = format!("{}HERE{}", "x".repeat(500), "y".repeat(500));
        insta::assert_snapshot!(plain(&Report::error("long").with_excerpt(&long, 500..504, None)), @r"
    error: long
      |
      | …xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxHEREyyyyyyyyyyyyyyyyyyyyyyyyyyyyy…
      |                                                             ^^^^
    ");
    }

    #[test]
    fn spans_that_do_not_fit_the_text_do_no_harm() {
        for span in [0..99, 99..100, 1..2, 5..5] {
            assert!(
                plain(&Report::error("odd").with_excerpt("é\n", span, Some(1))).starts_with("error: odd")
            );
        }
    }

    #[test]
    fn control_characters_are_shown_not_sent() {
        let shown = plain(&Report::error("a\u{1b}[2Jb\u{7}"));
        assert!(!shown.contains(['\u{1b}', '\u{7}']), "{shown:?}");
    }
}
