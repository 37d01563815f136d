//! Names of secrets: which are allowed, and which a connection's fields get.

/// Maximum length of a name in characters.
pub const CHARS_MAX: usize = 200;

/// Whether a secret or a variable may have this name.
pub fn is_allowed(name: &str) -> bool {
    (1..=CHARS_MAX).contains(&name.len())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// `<PROVIDER>_<FIELD>`: in upper case, words apart by `_`, as `OPEN_AI_API_KEY` for `open-ai` and `apiKey`.
/// `None`: one of them has neither letter nor digit, or the name would be too long.
pub fn derived(provider: &str, field: &str) -> Option<String> {
    let (provider, field) = (upper_snake(provider), upper_snake(field));
    let name = format!("{provider}_{field}");
    (!provider.is_empty() && !field.is_empty() && name.len() <= CHARS_MAX).then_some(name)
}

/// Upper case, with `_` for each run of other characters and where a word of camelCase begins. An acronym is a
/// word: its last letter belongs to the next one if a small letter follows.
fn upper_snake(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut name = String::new();
    let mut before: Option<char> = None;
    for (index, &c) in chars.iter().enumerate() {
        if !c.is_ascii_alphanumeric() {
            before = None;
            continue;
        }
        let begins_word = match before {
            None => !name.is_empty(),
            Some(before) if c.is_ascii_uppercase() => {
                let next_is_small = chars.get(index + 1).is_some_and(char::is_ascii_lowercase);
                !before.is_ascii_uppercase() || next_is_small
            }
            Some(_) => false,
        };
        if begins_word {
            name.push('_');
        }
        name.push(c.to_ascii_uppercase());
        before = Some(c);
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_upper_case_words() {
        for (provider, field, expected) in [
            ("open-ai", "apiKey", "OPEN_AI_API_KEY"),
            ("github", "apiKey", "GITHUB_API_KEY"),
            ("HTTPServer", "userID", "HTTP_SERVER_USER_ID"),
            ("  my -- service!", "client_secret", "MY_SERVICE_CLIENT_SECRET"),
            ("aws", "S3BucketARN", "AWS_S3_BUCKET_ARN"),
            ("oauth2", "token2Use", "OAUTH2_TOKEN2_USE"),
            ("café", "PASSWORD", "CAF_PASSWORD"),
        ] {
            assert_eq!(derived(provider, field).as_deref(), Some(expected));
        }
        assert_eq!(derived("---", "key"), None);
        assert_eq!(derived("a", "é"), None);
        assert_eq!(derived(&"a".repeat(150), &"b".repeat(50)), None);
    }
}
