//! Methods and global functions that give the engine's value when they are compiled, to the last digit, and what leaves the rest
//! to the engine.

use super::{Expression, Literal};
use heddle_values::methods::{Global, Method};

/// Methods that do in the engine what they do when they are compiled, to the last digit. `toExponential` without digits does
/// not: of 54 powers of two, which have a nearer neighbour below than above, QuickJS-ng's `js_dtoa` writes a digit more than
/// it has to (2^-44 as 5.6843418860808015e-14, not as 5.684341886080802e-14). That holds for its numbers as text as well, and
/// is no reason to leave all code with numbers in texts to the engine.
pub(super) fn is_method(method: Method) -> bool {
    matches!(
        method,
        Method::At
            | Method::CharAt
            | Method::CharCodeAt
            | Method::CodePointAt
            | Method::Concat
            | Method::EndsWith
            | Method::Every
            | Method::Fill
            | Method::Filter
            | Method::Find
            | Method::FindIndex
            | Method::FindLast
            | Method::FindLastIndex
            | Method::Flat
            | Method::FlatMap
            | Method::ForEach
            | Method::HasOwnProperty
            | Method::Includes
            | Method::IndexOf
            | Method::IsWellFormed
            | Method::Join
            | Method::LastIndexOf
            | Method::Map
            | Method::PadEnd
            | Method::PadStart
            | Method::Pop
            | Method::PropertyIsEnumerable
            | Method::Push
            | Method::Reduce
            | Method::ReduceRight
            | Method::Repeat
            | Method::Replace
            | Method::ReplaceAll
            | Method::Reverse
            | Method::Shift
            | Method::Slice
            | Method::Some
            | Method::Sort
            | Method::Splice
            | Method::Split
            | Method::StartsWith
            | Method::Substr
            | Method::Substring
            | Method::ToFixed
            | Method::ToLowerCase
            | Method::ToPrecision
            | Method::ToReversed
            | Method::ToSorted
            | Method::ToSpliced
            | Method::ToString
            | Method::ToUpperCase
            | Method::ToWellFormed
            | Method::Trim
            | Method::TrimEnd
            | Method::TrimLeft
            | Method::TrimRight
            | Method::TrimStart
            | Method::Unshift
            | Method::ValueOf
            | Method::With
    )
}

/// Global functions, likewise.
pub(super) fn is_global(global: Global) -> bool {
    matches!(
        global,
        Global::ArrayFrom
            | Global::ArrayIsArray
            | Global::ArrayOf
            | Global::Atob
            | Global::Boolean
            | Global::Btoa
            | Global::DecodeURI
            | Global::DecodeURIComponent
            | Global::EncodeURI
            | Global::EncodeURIComponent
            | Global::IsFinite
            | Global::IsNaN
            | Global::JSONParse
            | Global::JSONStringify
            | Global::MathAbs
            | Global::MathCeil
            | Global::MathClz32
            | Global::MathFloor
            | Global::MathFround
            | Global::MathImul
            | Global::MathMax
            | Global::MathMin
            | Global::MathRound
            | Global::MathSign
            | Global::MathSqrt
            | Global::MathTrunc
            | Global::Number
            | Global::NumberIsFinite
            | Global::NumberIsInteger
            | Global::NumberIsNaN
            | Global::NumberIsSafeInteger
            | Global::NumberParseFloat
            | Global::NumberParseInt
            | Global::ObjectAssign
            | Global::ObjectEntries
            | Global::ObjectFromEntries
            | Global::ObjectHasOwn
            | Global::ObjectIs
            | Global::ObjectKeys
            | Global::ObjectValues
            | Global::ParseFloat
            | Global::ParseInt
            | Global::String
            | Global::StringFromCharCode
            | Global::StringFromCodePoint
    )
}

/// Global functions that can be passed on as they are: not those that read more than they are meant to get, or change it.
pub(super) fn is_passed_on(global: Global) -> bool {
    is_global(global)
        && !matches!(
            global,
            Global::ParseInt | Global::NumberParseInt | Global::JSONParse | Global::ObjectAssign
        )
}

/// Fails, so that the engine executes the code.
pub(super) fn fails() -> Expression {
    Expression::Member(Box::new(Expression::Null), "engine".to_owned())
}

pub(super) fn text(text: &str) -> Expression {
    Expression::String(Literal::Utf8(text.to_owned()))
}
