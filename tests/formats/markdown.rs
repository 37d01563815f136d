//! Markdown against commonmark.js, the reference of CommonMark, and micromark with GitHub's extensions. Pages are
//! compared after a browser's parser has read them, since `"` and `&quot;` are the same there.

use crate::oracle;
use crate::sandbox::Node;
use serde_json::{Value, json};

/// From the specification of CommonMark, and in its manner.
const TEXTS: &[&str] = &[
    "\tfoo\tbaz\t\tbim\n",
    "  - foo\n\n\tbar\n",
    "- `one\n- two`\n",
    "***\n---\n___\n",
    "# foo\n## foo ##\n####### foo\n#hash\n",
    "Foo *bar*\n=========\n\nFoo\nbar\n---\n",
    "    a simple\n      indented code block\n",
    "```\n<\n >\n```\n~~~ruby startline=3\ndef foo(x)\nend\n~~~\n",
    "````\naaa\n```\n``````\n",
    "<table>\n  <tr>\n    <td>\n           hi\n    </td>\n  </tr>\n</table>\n\nokay.\n",
    "<div>\n*foo*\n\n*bar*\n</div>\n",
    "[foo]: /url \"title\"\n\n[foo] [FOO] [bar][foo] [foo][]\n",
    "[ẞ]\n\n[SS]: /url\n",
    "aaa\n             bbb\n  ccc\n\n\nddd  \neee\\\nfff\n",
    "> # Foo\n> bar\n> baz\n",
    "> foo\n---\n> bar\nbaz\n>\n> > x\n",
    "1.  A paragraph\n    with two lines.\n\n        indented code\n\n    > A block quote.\n",
    "- one\n\n two\n-  a\n   b\n",
    "- a\n - b\n  - c\n   - d\n    - e\n",
    "1. a\n\n  2. b\n\n    3. c\n",
    "* a\n*\n\n* c\n",
    "123456789. ok\n\n1234567890. not ok\n\n0. ok\n",
    "`` foo ` bar `` ` `` ` `foo\\`bar`\n",
    "*foo**bar**baz* **foo*bar*baz** ***foo** bar* *(*foo*)* foo_bar_ _foo_bar\n",
    "**foo* *foo**bar* __foo, __bar__, baz__ a*\"foo\"* *a `*`* \n",
    "[link](</my uri> \"t\") [l](foo\\)\\:) [l](foo(and(bar))) [l](<foo\\>) [a](  /b  'c'  )\n",
    "![foo *bar*](train.jpg \"train & tracks\") ![[foo]](/url2)\n",
    "[![moon](moon.jpg)](/uri) [foo [bar](/uri)](/uri) *[foo*](/uri)\n",
    "<http://foo.bar.baz/test?q=hello&id=22> <foo@bar.example.com> <made-up-scheme://foo,bar>\n",
    "<a><bab><c2c> <a  /><b2\ndata=\"foo\" > foo <!-- this -- is --> <?php x ?> <![CDATA[>&<]]>\n",
    "\\!\\\"\\#\\$\\%\\&\\'\\(\\)\\*\\+\\,\\-\\.\\/\\:\\;\\<\\=\\>\\?\\@\\[\\\\\\]\\^\\_\\`\\{\\}\n",
    "&nbsp; &amp; &copy; &AElig; &Dcaron; &frac34; &#35; &#1234; &#992; &#0; &#x22; &nbsp &x; &#87654321;\n",
    "foo     \nbaz\\\nbar  \n*  x\n",
    "hello $.;'there\n",
    "[foo]\n\n[foo]: <bar>(baz)\n\n[x]: /y\n# [X]\n",
    "",
    "\n\n",
    "a\u{a0}b\u{0}c\r\nd\re",
    "# a\t\n# b\t#\t\n#\tc # \t\n# d\t\\#\t\n> # e\t##\n",
    "```\ta\tb\n```\n~~~ &auml;\\* c\n~~~\n",
    "    # a\t#\t\n\n```\n# a\t#\t\n```\n",
    "日本*語*です **太字**。\n",
];

/// GitHub's extensions.
const EXTENDED: &[&str] = &[
    "| foo | bar |\n| --- | --- |\n| baz | bim |\n",
    "| abc | defghi |\n:-: | -----------:\nbar | baz\n",
    "| f\\|oo  |\n| ------ |\n| b `\\|` az |\n| b **\\|** im |\n",
    "| abc | def |\n| --- | --- |\n| bar |\n| bar | baz | boo |\n> quote\n",
    "| abc | def |\n| --- |\n| bar |\n",
    "~~Hi~~ Hello, ~there~ world!\n",
    "This ~~has a\n\nnew paragraph~~.\n",
    "- [ ] foo\n- [x] bar\n  - [X] baz\n- [] no\n- [ ]no\n",
];

#[tokio::test]
async fn pages_are_those_of_the_reference() {
    let mut random = oracle::random(11);
    let mut texts: Vec<Value> = TEXTS.iter().map(|text| json!(text)).collect();
    texts.extend(oracle::cases(250).map(|_| Value::from(generated(&mut random))));
    assert_same("commonmark", &texts).await;
}

/// The reference always has it: lines of code and HTML have their endings then, which a last line without one need not.
#[tokio::test]
async fn the_last_line_may_have_no_ending() {
    let mut random = oracle::random(12);
    let node = Node::new("Markdown", json!({"trusted": true}));
    let mut wrong = Vec::new();
    for _ in oracle::cases(150) {
        let text = generated(&mut random);
        let with = node.run(&json!(text)).await.unwrap();
        let without = node.run(&json!(text.strip_suffix('\n').unwrap())).await.unwrap();
        let page = |page: &Value| page.as_str().unwrap().replace('\n', "");
        if page(&with) != page(&without) {
            wrong.push(format!("{text:?}\n  {with}\n  {without}"));
        }
    }
    oracle::assert_none(&wrong);
}

#[tokio::test]
async fn extensions_are_githubs() {
    let texts: Vec<Value> = EXTENDED.iter().map(|text| json!(text)).collect();
    assert_same("gfm", &texts).await;
}

async fn assert_same(kind: &str, texts: &[Value]) {
    let Some(expected) = oracle::ask(kind, texts) else {
        return;
    };
    let node = Node::new("Markdown", json!({"trusted": true}));
    let mut pages = Vec::new();
    for text in texts {
        pages.push(node.run(text).await.unwrap());
    }
    let pages = oracle::ask("canonical", &pages).unwrap();
    let differences = texts
        .iter()
        .zip(pages)
        .zip(expected)
        .filter(|((text, page), expected)| !is_same(text, page, expected));
    let differences: Vec<_> = differences
        .map(|((text, page), expected)| format!("{text}\n  {page}\n  {expected}"))
        .collect();
    oracle::assert_none(&differences);
}

/// Of code in a line that goes on in the next one the parser keeps the indentation, which CommonMark takes off; browsers
/// show one space, or at the end of the code one that the reference has not.
fn is_same(text: &Value, ours: &Value, expected: &Value) -> bool {
    let text = text.as_str().unwrap();
    let goes_on = text.contains('`') && (text.contains("\n ") || text.contains("\n\t"));
    let page = |page: &Value| {
        let page = page.as_str().unwrap();
        match goes_on {
            true => page.replace("<code> ", "<code>").replace(" </code>", "</code>"),
            false => page.to_owned(),
        }
    };
    page(ours) == page(expected)
}

/// Lines of pieces of Markdown in no order, without those that only extensions know.
fn generated(random: &mut fastrand::Rng) -> String {
    const PIECES: &[&str] = &[
        "a", "b ", " c", "*", "**", "_", "`", "``", "[", "]", "(", ")", "](/u)", "![", "<", ">", "\n",
        "\n\n", "\n- ", "\n> ", "\n1. ", "\n# ", "\n    ", "\n```\n", "\\", "&amp;", "&", "<b>", "</b>",
        "  \n", "\n---\n", "\"", "'", "é", "\t", "!",
    ];
    (0..random.u32(2..16))
        .map(|_| *random.choice(PIECES).unwrap())
        .chain(["\n"])
        .collect()
}
