//! The methods and global functions that expressions can call, by name and by the number that modules use.
//!
//! New ones go to the end of their list: numbers are part of the ABI.

macro_rules! names {
    ($(#[$about:meta])* $type:ident { $($variant:ident $name:literal,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u16)]
        pub enum $type {
            $(
                #[doc = concat!("`", $name, "`")]
                $variant,
            )*
        }

        impl $type {
            /// All of them, in the order of their numbers.
            pub const ALL: &[$type] = &[$($type::$variant),*];

            /// As JavaScript writes it.
            pub fn name(self) -> &'static str {
                match self {
                    $($type::$variant => $name,)*
                }
            }

            /// The one of this name.
            pub fn from_name(name: &str) -> Option<Self> {
                match name {
                    $($name => Some($type::$variant),)*
                    _ => None,
                }
            }

            /// What a module calls it by.
            pub fn number(self) -> u32 {
                self as u32
            }

            /// The one of this number.
            pub fn from_number(number: u32) -> Option<Self> {
                Self::ALL.get(usize::try_from(number).ok()?).copied()
            }
        }
    };
}

names! {
    /// A method: what it does depends on the value that it is called on.
    Method {
        At "at",
        CharAt "charAt",
        CharCodeAt "charCodeAt",
        CodePointAt "codePointAt",
        Concat "concat",
        EndsWith "endsWith",
        Every "every",
        Fill "fill",
        Filter "filter",
        Find "find",
        FindIndex "findIndex",
        FindLast "findLast",
        FindLastIndex "findLastIndex",
        Flat "flat",
        FlatMap "flatMap",
        ForEach "forEach",
        HasOwnProperty "hasOwnProperty",
        Includes "includes",
        IndexOf "indexOf",
        IsWellFormed "isWellFormed",
        Join "join",
        LastIndexOf "lastIndexOf",
        LocaleCompare "localeCompare",
        Map "map",
        PadEnd "padEnd",
        PadStart "padStart",
        Pop "pop",
        PropertyIsEnumerable "propertyIsEnumerable",
        Push "push",
        Reduce "reduce",
        ReduceRight "reduceRight",
        Repeat "repeat",
        Replace "replace",
        ReplaceAll "replaceAll",
        Reverse "reverse",
        Shift "shift",
        Slice "slice",
        Some "some",
        Sort "sort",
        Splice "splice",
        Split "split",
        StartsWith "startsWith",
        Substr "substr",
        Substring "substring",
        ToExponential "toExponential",
        ToFixed "toFixed",
        ToLocaleLowerCase "toLocaleLowerCase",
        ToLocaleString "toLocaleString",
        ToLocaleUpperCase "toLocaleUpperCase",
        ToLowerCase "toLowerCase",
        ToPrecision "toPrecision",
        ToReversed "toReversed",
        ToSorted "toSorted",
        ToSpliced "toSpliced",
        ToString "toString",
        ToUpperCase "toUpperCase",
        ToWellFormed "toWellFormed",
        Trim "trim",
        TrimEnd "trimEnd",
        TrimLeft "trimLeft",
        TrimRight "trimRight",
        TrimStart "trimStart",
        Unshift "unshift",
        ValueOf "valueOf",
        With "with",
    }
}

names! {
    /// A function that JavaScript gives everywhere.
    Global {
        ArrayFrom "Array.from",
        ArrayIsArray "Array.isArray",
        ArrayOf "Array.of",
        Boolean "Boolean",
        JSONParse "JSON.parse",
        JSONStringify "JSON.stringify",
        MathAbs "Math.abs",
        MathAcos "Math.acos",
        MathAcosh "Math.acosh",
        MathAsin "Math.asin",
        MathAsinh "Math.asinh",
        MathAtan "Math.atan",
        MathAtan2 "Math.atan2",
        MathAtanh "Math.atanh",
        MathCbrt "Math.cbrt",
        MathCeil "Math.ceil",
        MathClz32 "Math.clz32",
        MathCos "Math.cos",
        MathCosh "Math.cosh",
        MathExp "Math.exp",
        MathExpm1 "Math.expm1",
        MathFloor "Math.floor",
        MathFround "Math.fround",
        MathHypot "Math.hypot",
        MathImul "Math.imul",
        MathLog "Math.log",
        MathLog10 "Math.log10",
        MathLog1p "Math.log1p",
        MathLog2 "Math.log2",
        MathMax "Math.max",
        MathMin "Math.min",
        MathPow "Math.pow",
        MathRound "Math.round",
        MathSign "Math.sign",
        MathSin "Math.sin",
        MathSinh "Math.sinh",
        MathSqrt "Math.sqrt",
        MathTan "Math.tan",
        MathTanh "Math.tanh",
        MathTrunc "Math.trunc",
        Number "Number",
        NumberIsFinite "Number.isFinite",
        NumberIsInteger "Number.isInteger",
        NumberIsNaN "Number.isNaN",
        NumberIsSafeInteger "Number.isSafeInteger",
        NumberParseFloat "Number.parseFloat",
        NumberParseInt "Number.parseInt",
        ObjectAssign "Object.assign",
        ObjectEntries "Object.entries",
        ObjectFromEntries "Object.fromEntries",
        ObjectHasOwn "Object.hasOwn",
        ObjectIs "Object.is",
        ObjectKeys "Object.keys",
        ObjectValues "Object.values",
        String "String",
        StringFromCharCode "String.fromCharCode",
        StringFromCodePoint "String.fromCodePoint",
        Atob "atob",
        Btoa "btoa",
        DecodeURI "decodeURI",
        DecodeURIComponent "decodeURIComponent",
        EncodeURI "encodeURI",
        EncodeURIComponent "encodeURIComponent",
        IsFinite "isFinite",
        IsNaN "isNaN",
        ParseFloat "parseFloat",
        ParseInt "parseInt",
        StructuredClone "structuredClone",
    }
}
