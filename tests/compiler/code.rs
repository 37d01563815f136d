//! JavaScript in parameters: what is found in it before it runs.

use crate::diagnostics::{node, of, started};
use insta::assert_snapshot;
use serde_json::json;

#[test]
fn code_is_parsed_before_it_runs() {
    let script = |source: &str| {
        let parameters = json!({ "code": source });
        of(started([node("s", "JavaScript", parameters)], &["start -> s"]))
    };
    let sources = [
        "export default ({input}) => `{{${input}}}`",
        "const f = async () => 1; export { f as default }",
        "export default () => {\n  const a = ;\n}",
        "import fs from 'fs';\nexport default () => fs;",
        "import { DateTime } from 'luxon';\nexport default () => DateTime.now();",
        "import { DateTime, Info } from 'luxon';\nimport luxon from 'luxon';\nexport default () => Info;",
        "const a = 1;",
        "",
        "export default ({input}) => new Date(input).toLocaleDateString('de-AT')",
    ];
    let all: Vec<String> = sources.iter().map(|source| script(source)).collect();
    assert_snapshot!(all.join("--\n"), @r#"
--
--
error[syntax] s code: this is not a valid JavaScript module: unexpected token (line 2, column 13)
  at `;`
--
error[import] s code: `fs` can't be imported (line 1, column 1)
  only built-ins are available: fetch, URL, crypto, TextEncoder and the like
  at `import fs from 'fs';`
--
--
error[import] s code: `Info` of `luxon` is not there (line 1, column 1)
  write `import { DateTime, Duration, Interval } from "luxon"`
  at `import { DateTime, Info } from 'luxon';`
error[import] s code: `luxon` has no default export (line 2, column 1)
  write `import { DateTime, Duration, Interval } from "luxon"`
  at `import luxon from 'luxon';`
--
error[no-default-export] s code: the module has no default export
  write `export default ({input}) => …`
--
error[no-default-export] s code: the module has no default export
  write `export default ({input}) => …`
--
"#);
    let long = format!("export default () => '{}'", "x".repeat(65_536));
    assert!(script(&long).contains("more than the 64 allowed"));
    // Nothing that nests can break the parser.
    for open in [
        "(", "[", "{a:", "`${", "!", "a=>", "if(a)", "a?b:", "class{a=", "a\n:", "do ",
    ] {
        assert!(!script(&open.repeat(20_000 / open.len())).is_empty(), "{open}");
    }
}
