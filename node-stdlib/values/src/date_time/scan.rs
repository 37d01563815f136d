//! Reading text piece by piece.

/// What is left of a text.
#[derive(Clone, Copy)]
pub(super) struct Scan<'a>(pub(super) &'a str);

impl<'a> Scan<'a> {
    pub(super) fn is_at_end(self) -> bool {
        self.0.is_empty()
    }

    /// The next character if it is one of these.
    pub(super) fn one_of(&mut self, characters: &[char]) -> Option<char> {
        let first = self.0.chars().next().filter(|first| characters.contains(first))?;
        self.0 = self.0.get(first.len_utf8()..)?;
        Some(first)
    }

    /// This text, in any case.
    pub(super) fn text(&mut self, text: &str) -> Option<()> {
        let (start, rest) = self.0.split_at_checked(text.len())?;
        start.eq_ignore_ascii_case(text).then(|| self.0 = rest)
    }

    /// Between so many ASCII digits, as many as there are.
    pub(super) fn digits(&mut self, least: usize, most: usize) -> Option<&'a str> {
        let count = self.0.bytes().take(most).take_while(u8::is_ascii_digit).count();
        let (digits, rest) = self.0.split_at_checked(count).filter(|_| count >= least)?;
        self.0 = rest;
        Some(digits)
    }

    /// The number of exactly so many digits.
    pub(super) fn number(&mut self, digits: usize) -> Option<f64> {
        self.digits(digits, digits)?.parse().ok()
    }

    /// What `read` makes of the text; where it makes nothing, nothing is read.
    pub(super) fn attempt<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        let before = *self;
        let result = read(self);
        if result.is_none() {
            *self = before;
        }
        result
    }

    /// Characters while they are wanted, at least one.
    pub(super) fn many(&mut self, wanted: impl Fn(char) -> bool) -> Option<&'a str> {
        let end = self.0.find(|c| !wanted(c)).unwrap_or(self.0.len());
        let (taken, rest) = self.0.split_at_checked(end).filter(|_| end > 0)?;
        self.0 = rest;
        Some(taken)
    }
}
