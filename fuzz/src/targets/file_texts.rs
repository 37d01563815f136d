//! A byte for the size of pieces, the encoding that a node asks for (nothing: none), the file's media type, and on the lines below what is in the file: it is
//! a text or refused; in whatever pieces it is read, the text is the same, and so it is by lines unless one is longer than a piece.

use heddle_runtime::EffectCode;
use heddle_runtime::foreign::FileRead;

/// No character has more bytes.
const PIECE_BYTES_MIN: usize = 8;
/// Pieces of a file at most.
const PIECES_MAX: usize = 100;

/// Checks an input.
pub fn check(data: &[u8]) {
    let Some((size, rest)) = data.split_first() else {
        return;
    };
    let mut parts = rest.splitn(3, |byte| *byte == b'\n');
    let mut text = || std::str::from_utf8(parts.next()?).ok();
    let (Some(encoding), Some(media_type)) = (text(), text()) else {
        return;
    };
    let content = parts.next().unwrap_or_default();
    let piece_bytes = (PIECE_BYTES_MIN + usize::from(*size)).max(content.len() / PIECES_MAX);
    let whole = FileRead {
        content,
        media_type,
        encoding: (!encoding.is_empty()).then_some(encoding),
        piece_bytes: content.len() as u64 + 1,
    };
    let cut = FileRead {
        piece_bytes: piece_bytes as u64,
        ..whole
    };
    let executor = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let read = executor.block_on(whole.in_pieces());
    let in_pieces = executor.block_on(cut.in_pieces());
    let by_lines = executor.block_on(cut.by_lines());
    match read {
        Ok(text) => {
            assert!(text.len() <= 3 * content.len());
            assert_eq!(in_pieces.unwrap(), text);
            match by_lines {
                Ok(lines) => assert_eq!(lines, text),
                Err(error) => assert_eq!(error.code, EffectCode::FileLimit, "{error}"),
            }
        }
        Err(error) => {
            assert!(
                matches!(error.code, EffectCode::Parse | EffectCode::Parameter),
                "{error}"
            );
            assert_eq!(in_pieces.unwrap_err().code, error.code);
        }
    }
}
