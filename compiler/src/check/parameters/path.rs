//! Where within its parameter a value stands, as `cases[0].name`.

/// Names in a path may be as long as the graph, and each value within has a path.
const PATH_BYTES_MAX: usize = 500;

/// `path[index]`.
pub(super) fn element(path: &str, index: usize) -> String {
    match path.len() > PATH_BYTES_MAX {
        true => path.to_owned(),
        false => format!("{path}[{index}]"),
    }
}

/// `path.name`, or `path["name"]` where a dot would mislead.
pub(super) fn join(path: &str, name: &str) -> String {
    if path.len() > PATH_BYTES_MAX {
        return path.to_owned();
    }
    let name = name
        .get(..name.floor_char_boundary(PATH_BYTES_MAX))
        .unwrap_or_default();
    let plain = !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_$-".contains(&byte));
    match (path.is_empty(), plain) {
        (true, _) => name.to_owned(),
        (false, true) => format!("{path}.{name}"),
        (false, false) => format!("{path}[{name:?}]"),
    }
}
