//! Compressed bodies as their senders make them, and as nobody should.

use super::{Encoding, broken, decoded, flowing, of};
use crate::http::error::ApiError;
use axum::body::Bytes;
use axum::http::header::CONTENT_ENCODING;
use axum::http::{HeaderMap, HeaderValue};
use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use futures_util::{TryStreamExt, stream};
use heddle_model::Code;
use std::convert::Infallible;
use std::io::Write;

const BOTH: [Encoding; 2] = [Encoding::Gzip, Encoding::Deflate];

fn packed(encoding: Encoding, body: &[u8]) -> Vec<u8> {
    match encoding {
        Encoding::Gzip => {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
            encoder.write_all(body).unwrap();
            encoder.finish().unwrap()
        }
        Encoding::Deflate => {
            let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
            encoder.write_all(body).unwrap();
            encoder.finish().unwrap()
        }
    }
}

fn named(names: &[&str]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for name in names {
        headers.append(CONTENT_ENCODING, HeaderValue::try_from(*name).unwrap());
    }
    headers
}

/// What comes of a body that arrives in pieces.
async fn flown(encoding: Encoding, packed: &[u8], piece: usize, bytes_max: u64) -> Result<Vec<u8>, ApiError> {
    let headers = named(&[match encoding {
        Encoding::Gzip => "gzip",
        Encoding::Deflate => "deflate",
    }]);
    let pieces: Vec<_> = packed
        .chunks(piece)
        .map(Bytes::copy_from_slice)
        .map(Ok::<_, Infallible>)
        .collect();
    let mut body = flowing(&headers, stream::iter(pieces), bytes_max)?;
    let mut all = Vec::new();
    while let Some(piece) = body.try_next().await.map_err(|error| broken(&*error))? {
        assert!(!piece.is_empty() && piece.len() <= 1 << 20, "{}", piece.len());
        all.extend_from_slice(&piece);
    }
    Ok(all)
}

#[tokio::test]
async fn what_was_compressed_is_read() {
    let mixed: Vec<u8> = (0..20_000_u32)
        .flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes())
        .collect();
    for body in [&b""[..], b"{\"a\": 1}", &[0; 3_000_000], &mixed] {
        for encoding in BOTH {
            let packed = packed(encoding, body);
            assert!(
                decoded(encoding, &packed, body.len()).unwrap() == body,
                "{encoding:?}"
            );
            for piece in [1, 7, 256, 65_536] {
                let flown = flown(encoding, &packed, piece, 4_000_000).await.unwrap();
                assert!(flown == body, "{encoding:?} {} {piece}", body.len());
            }
        }
    }
    // Files of gzip that follow each other are one.
    let two = [packed(Encoding::Gzip, b"ab"), packed(Encoding::Gzip, b"cd")].concat();
    assert_eq!(decoded(Encoding::Gzip, &two, 4).unwrap(), "abcd");
    // Requests without a body may have the header as well.
    assert_eq!(decoded(Encoding::Gzip, b"", 4).unwrap(), "");
    assert_eq!(flown(Encoding::Deflate, b"", 1, 4).await.unwrap(), b"");
}

#[tokio::test]
async fn little_does_not_become_much() {
    for encoding in BOTH {
        let bomb = packed(encoding, &vec![0; 10_000_000]);
        assert!(bomb.len() < 100_000);
        let refused = decoded(encoding, &bomb, 1_000_000).unwrap_err();
        assert_eq!(refused.code(), Code::PayloadTooLarge);
        assert_eq!(
            refused.message(),
            "The body is larger than 1000000 bytes once it is decompressed."
        );
        let exact = packed(encoding, &[b'x'; 1_000]);
        assert!(decoded(encoding, &exact, 1_000).is_ok());
        assert_eq!(
            decoded(encoding, &exact, 999).unwrap_err().code(),
            Code::PayloadTooLarge
        );
    }
    // Nothing comes of these, however many there are.
    let nothing = packed(Encoding::Gzip, b"").repeat(1_000);
    let refused = flown(Encoding::Gzip, &nothing, 1_000, 10_000).await.unwrap_err();
    assert_eq!(refused.code(), Code::PayloadTooLarge);
}

#[tokio::test]
async fn what_is_not_what_it_is_said_to_be_is_refused() {
    for encoding in BOTH {
        let whole = packed(encoding, b"{\"a\": 1}");
        let cut = &whole[..whole.len() - 1];
        let mut changed = whole.clone();
        let last = changed.len() - 1;
        changed[last - 2] ^= 1;
        let followed = [&whole[..], b"x"].concat();
        for broken in [cut, &changed, &followed, b"{\"a\": 1}", b"\x1f", b"\x78"] {
            let refused = decoded(encoding, broken, 1_000).unwrap_err();
            assert_eq!(refused.code(), Code::Validation, "{encoding:?} {broken:?}");
            let refused = flown(encoding, broken, 3, 1_000).await.unwrap_err();
            assert_eq!(refused.code(), Code::Validation, "{encoding:?} {broken:?}");
        }
    }
}

#[test]
fn encodings_have_names() {
    for (names, encoding) in [
        (&[""; 0][..], None),
        (&["identity"], None),
        (&["UTF-8"], None),
        (&["gzip"], Some(Encoding::Gzip)),
        (&[" X-GZip "], Some(Encoding::Gzip)),
        (&["deflate"], Some(Encoding::Deflate)),
    ] {
        assert_eq!(of(&named(names)).unwrap(), encoding, "{names:?}");
    }
    for names in [&["br"][..], &["gzip, gzip"], &["gzip", "gzip"], &["zstd"]] {
        let refused = of(&named(names)).unwrap_err();
        assert_eq!(refused.code(), Code::UnsupportedMediaType, "{names:?}");
    }
}
