//! Methods and properties of plain values.

use super::entry::Line;

pub(super) const TYPES: &[(&str, &[Line], &[Line])] = &[
    ("any", ANY, &[]),
    ("string", STRING, &[("length", "the number of UTF-16 code units")]),
    ("number", NUMBER, &[]),
    ("boolean", BOOLEAN, &[]),
    ("array", ARRAY, &[("length", "the number of elements")]),
    ("object", OBJECT, &[]),
    (
        "node",
        NODE,
        &[
            ("isExecuted", "whether the node has run"),
            ("item", "the element from which the current one was derived"),
        ],
    ),
];

const ANY: &[Line] = &[
    ("isEmpty()", "whether it is null, undefined or empty"),
    ("isNotEmpty()", "whether it is not empty"),
    ("toJsonString()", "the value as JSON text"),
    ("toString()", "the value as text"),
    (
        "toLocaleString(locales?, options?)",
        "the value as text for people",
    ),
    ("valueOf()", "the value itself"),
];

const STRING: &[Line] = &[
    (
        "at(index)",
        "the character at a position; negative ones count from the end",
    ),
    ("base64Decode()", "the text decoded from base64"),
    ("base64Encode()", "the text as base64"),
    ("charAt(index)", "the character at a position, or an empty string"),
    ("charCodeAt(index)", "the UTF-16 code unit at a position"),
    ("codePointAt(index)", "the code point at a position"),
    ("concat(...texts)", "the strings joined together"),
    ("endsWith(part, end?)", "whether it ends with a string"),
    ("extractDomain()", "the server of an address"),
    ("extractEmail()", "the first email address in it"),
    ("extractUrl()", "the first web address in it"),
    ("extractUrlPath()", "what follows the server in an address"),
    (
        "hash(algorithm?)",
        "its digest in hex: md5, sha1, sha256 or sha512",
    ),
    ("includes(part, from?)", "whether it contains a string"),
    (
        "indexOf(part, from?)",
        "where a text begins in it; -1 if it does not",
    ),
    ("isDomain()", "whether it is the name of a server"),
    ("isEmail()", "whether it has an email address and no spaces"),
    ("isNumeric()", "whether it is a number written as text"),
    ("isUrl()", "whether it is a web address"),
    ("isWellFormed()", "whether it has no lone surrogates"),
    (
        "lastIndexOf(part, from?)",
        "where a text begins in it for the last time",
    ),
    (
        "localeCompare(other, locales?, options?)",
        "-1, 0 or 1 by the order of a language",
    ),
    ("match(pattern)", "the match of a regular expression"),
    ("matchAll(pattern)", "all matches of a regular expression"),
    ("normalize(form?)", "the string in a Unicode normal form"),
    ("padEnd(length, fill?)", "the string padded at its end"),
    ("padStart(length, fill?)", "the string padded at its start"),
    ("parseJson()", "the value parsed from JSON"),
    ("quote(mark?)", "the string in quotes, with those in it escaped"),
    ("removeMarkdown()", "the string without the signs of Markdown"),
    ("removeTags()", "the string without HTML tags"),
    ("repeat(count)", "the string repeated this many times"),
    ("replace(what, by)", "the string with the first match replaced"),
    ("replaceAll(what, by)", "the string with all matches replaced"),
    ("search(pattern)", "where a regular expression first matches"),
    (
        "slice(start?, end?)",
        "a part; negative positions count from the end",
    ),
    ("split(separator, limit?)", "the parts between separators"),
    ("startsWith(part, from?)", "whether it begins with a string"),
    ("substr(start, length?)", "a part of this length"),
    ("substring(start, end?)", "a part"),
    (
        "toBoolean()",
        "false for `false`, `0`, `no` and the empty string, otherwise true",
    ),
    ("toDateTime(format?)", "the date-time parsed from it"),
    ("toDecimalNumber()", "the number parsed from it"),
    ("toFloat()", "the number parsed from it"),
    ("toInt(radix?)", "the whole number parsed from it"),
    ("toLocaleLowerCase(locales?)", "the string in lower case"),
    ("toLocaleUpperCase(locales?)", "the string in upper case"),
    ("toLowerCase()", "the string in lower case"),
    ("toNumber()", "the number parsed from it"),
    (
        "toSentenceCase()",
        "the first letter of each sentence in upper case",
    ),
    ("toSnakeCase()", "in lower case, with _ for spaces"),
    ("toTitleCase()", "the first letter of each word in upper case"),
    ("toUpperCase()", "the string in upper case"),
    ("toWellFormed()", "the string with lone surrogates replaced"),
    ("toWholeNumber(radix?)", "the whole number parsed from it"),
    ("trim()", "the string without whitespace at both ends"),
    ("trimEnd()", "the string without whitespace at its end"),
    ("trimLeft()", "the same as trimStart"),
    ("trimRight()", "the same as trimEnd"),
    ("trimStart()", "the string without whitespace at its start"),
    ("urlDecode(whole?)", "the string with percent-encoding decoded"),
    ("urlEncode(whole?)", "the string percent-encoded for a URL"),
];

const NUMBER: &[Line] = &[
    ("abs()", "the absolute value"),
    ("ceil()", "the number rounded up"),
    ("floor()", "the number rounded down"),
    ("format(locales?, options?)", "the number as text for people"),
    ("isEven()", "whether it is a multiple of 2"),
    ("isInteger()", "whether it is a whole number"),
    ("isOdd()", "whether it is a whole number and no multiple of 2"),
    ("round(decimals?)", "the number rounded to this many decimals"),
    ("toBoolean()", "whether it is not 0"),
    ("toDateTime(unit?)", "the date-time at this time since 1970"),
    ("toExponential(digits?)", "the number with an exponent"),
    ("toFixed(digits?)", "the number with this many decimals, as text"),
    ("toFloat()", "the number itself"),
    ("toInt()", "the nearest whole number"),
    ("toNumber()", "the number itself"),
    (
        "toPrecision(digits?)",
        "the number with this many digits, as text",
    ),
    ("toString(radix?)", "the number as text"),
];

const BOOLEAN: &[Line] = &[
    ("toBoolean()", "the value itself"),
    ("toInt()", "1 or 0"),
    ("toNumber()", "1 or 0"),
];

const ARRAY: &[Line] = &[
    ("append(...elements)", "the array with elements at its end"),
    (
        "at(index)",
        "the element at a position; negative ones count from the end",
    ),
    ("average()", "the mean of the numbers"),
    ("chunk(size)", "the array split into arrays of this many elements"),
    ("compact()", "the elements that are not empty"),
    ("concat(...others)", "the elements of all arrays"),
    (
        "difference(other)",
        "the elements that another array does not have",
    ),
    ("every(test)", "whether all elements pass a test"),
    (
        "fill(value, start?, end?)",
        "the array with a value at these positions",
    ),
    ("filter(test)", "the elements that pass a test"),
    ("find(test)", "the first element that passes a test"),
    (
        "findIndex(test)",
        "the index of the first element that passes a test",
    ),
    ("findLast(test)", "the last element that passes a test"),
    (
        "findLastIndex(test)",
        "the index of the last element that passes a test",
    ),
    ("first()", "the first element"),
    ("flat(depth?)", "the array with nested arrays flattened"),
    (
        "flatMap(map)",
        "the results of a function for each element, flattened",
    ),
    ("forEach(visit)", "calls a function for each element"),
    ("includes(value, from?)", "whether it contains a value"),
    ("indexOf(value, from?)", "the index of a value, or -1"),
    ("intersection(other)", "the elements that another array has too"),
    ("join(separator?)", "the elements joined into a string"),
    ("keys()", "the places"),
    ("last()", "the last element"),
    ("lastIndexOf(value, from?)", "the last index of a value"),
    ("map(map)", "the results of a function for each element"),
    ("max()", "the largest number"),
    ("merge(other?)", "one object with the fields of all objects"),
    ("min()", "the smallest number"),
    (
        "pluck(...names)",
        "the values of these fields of each element that has any of them",
    ),
    ("pop()", "removes the last element and gives it"),
    (
        "push(...elements)",
        "adds elements at the end and gives the new length",
    ),
    (
        "reduce(combine, initial?)",
        "one value, built from the first element on",
    ),
    (
        "reduceRight(combine, initial?)",
        "one value, built from the last element on",
    ),
    ("removeDuplicates(...names)", "the elements without duplicates"),
    (
        "renameKeys(from, to, ...more)",
        "its objects with other names for some fields",
    ),
    ("reverse()", "the elements in reverse order"),
    ("shift()", "removes the first element and gives it"),
    ("slice(start?, end?)", "the elements at these positions"),
    (
        "smartJoin(name, value)",
        "an object with the value of one field by the name in another",
    ),
    ("some(test)", "whether an element passes a test"),
    ("sort(compare?)", "the elements in order"),
    (
        "splice(start, count?, ...elements)",
        "removes elements and inserts others in their place",
    ),
    ("sum()", "the sum of the numbers"),
    ("toReversed()", "the elements in reverse order, as a new array"),
    ("toSorted(compare?)", "the elements in order, as a new array"),
    (
        "toSpliced(start, count?, ...elements)",
        "the elements with some replaced by others, as a new array",
    ),
    ("union(other)", "the elements of both arrays without duplicates"),
    ("unique(...names)", "the elements without duplicates"),
    (
        "unshift(...elements)",
        "adds elements at the start and gives the new length",
    ),
    ("values()", "the elements"),
    (
        "with(index, value)",
        "the elements with one replaced, as a new array",
    ),
];

const OBJECT: &[Line] = &[
    ("compact()", "the fields that are not empty"),
    ("hasField(name)", "whether it has a field"),
    ("hasOwnProperty(name)", "whether it has a field"),
    (
        "keepFieldsContaining(part)",
        "the fields whose value is text with this part in it",
    ),
    ("keys()", "the names of the fields"),
    ("propertyIsEnumerable(name)", "whether it has a field"),
    ("removeField(name)", "the object without a field"),
    (
        "removeFieldsContaining(part)",
        "the fields but for those whose value is text with this part in it",
    ),
    ("urlEncode()", "the fields as a query string"),
    ("values()", "the values of the fields"),
];

const NODE: &[Line] = &[
    ("all()", "the elements of the node's output as an array"),
    ("first()", "the first element of the node's output"),
    ("last()", "the last element of the node's output"),
];
