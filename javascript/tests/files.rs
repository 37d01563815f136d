//! Files in a module's code: values that refer to them, those that it makes, and Buffer.

#[expect(dead_code, reason = "other tests have more use for it")]
mod support;

use serde_json::{Value, json};
use support::{Limits, body, run, run_with};

/// Bytes of the file that the host has: more than are read at once.
const SIZE: usize = (1 << 20) + 5;

fn encoded(from: usize, to: usize) -> String {
    // Three bytes of `x` each time, and what is left.
    let (whole, rest) = ((to - from) / 3, (to - from) % 3);
    "eHh4".repeat(whole) + ["", "eA==", "eHg="][rest]
}

#[test]
fn a_value_that_refers_to_a_file_is_read_in_parts() {
    let source = "export default async ({input}) => {
        const {file} = input;
        const bytes = await file.bytes();
        return [file instanceof File, JSON.stringify(file), Object.keys(file), bytes.length, (await file.text()).length, file, typeof input.text];
    }";
    let file = json!({"$file": "01", "name": "a.txt", "type": "text/plain", "size": 1, "sha256": "00"});
    let mut asked = Vec::new();
    let (_, result) = run_with(
        source,
        json!({"file": file}),
        Limits::default(),
        |kind, request| {
            assert_eq!(kind, "file-piece");
            asked.push(request.clone());
            let from = request["offset"].as_u64().unwrap() as usize;
            let to = SIZE.min(from + request["limit"].as_u64().unwrap() as usize);
            Ok(json!({"base64": encoded(from, to), "size": SIZE}))
        },
    );
    let text = serde_json::to_string(&file).unwrap();
    let keys = json!(["$file", "name", "type", "size", "sha256"]);
    let found = result.unwrap().unwrap();
    assert_eq!(found[0], true);
    let shown: Value = serde_json::from_str(found[1].as_str().unwrap()).unwrap();
    assert_eq!(shown.to_string(), text);
    assert_eq!(found[2].as_array().map(Vec::len), keys.as_array().map(Vec::len));
    assert_eq!(found[3], SIZE);
    assert_eq!(found[4], SIZE);
    assert_eq!((&found[5], &found[6]), (&file, &json!("undefined")));
    assert_eq!(asked.len(), 4);
    assert_eq!(
        asked[1],
        json!({
            "operation": "read", "as": "base64", "offset": 1 << 20, "limit": 1 << 20,
            "file": {"$file": "01", "name": "a.txt", "type": "text/plain"},
        })
    );
}

#[test]
fn a_part_of_a_stored_file_is_read_alone() {
    let source = "export default async ({input}) => {
        const part = input.slice(2, -1, 'text/plain');
        const inner = part.slice(-3);
        const empty = await input.slice(4, 2).bytes();
        return [part instanceof File, part.size, part.type, await inner.text(), inner.size, empty.length];
    }";
    let file = json!({"$file": "01", "name": "a.txt", "type": "text/plain", "size": 10});
    let mut asked = Vec::new();
    let (_, result) = run_with(source, file, Limits::default(), |kind, request| {
        assert_eq!(kind, "file-piece");
        asked.push((request["offset"].clone(), request["limit"].clone()));
        Ok(json!({"base64": "eHl6", "size": 10}))
    });
    assert_eq!(
        result.unwrap().unwrap(),
        json!([false, 7, "text/plain", "xyz", 3, 0])
    );
    assert_eq!(asked, [(json!(6), json!(3))]);
}

#[test]
fn files_in_the_value_are_stored_and_others_are_not() {
    let source = "export default async ({input}) => {
        const file = new File(['a', new Uint8Array([98]), new Blob(['c'])], 'a.txt', {type: 'text/plain'});
        new File(['unused'], 'b.txt');
        await null;
        const texts = [await file.text(), file.size, await new Response(file).text()];
        return {files: [file, {again: file}], texts};
    }";
    let mut asked = Vec::new();
    let (_, result) = run_with(source, json!({}), Limits::default(), |kind, request| {
        assert_eq!(kind, "file");
        asked.push(request.clone());
        Ok(json!({"$file": "07", "name": "a.txt", "type": "text/plain", "size": 3, "sha256": "ff"}))
    });
    let stored = json!({"$file": "07", "name": "a.txt", "type": "text/plain", "size": 3, "sha256": "ff"});
    assert_eq!(
        result.unwrap().unwrap(),
        json!({"files": [stored, {"again": stored}], "texts": ["abc", 3, "abc"]})
    );
    let made = json!({"operation": "make", "base64": "YWJj", "name": "a.txt", "type": "text/plain"});
    assert_eq!(asked, [made]);
}

#[test]
fn a_file_of_the_module_is_stored_as_well() {
    let source = "const made = new File(['a'], 'a.txt'); export default () => [made, made]";
    let mut asked = 0;
    let (_, result) = run_with(source, json!({}), Limits::default(), |_, _| {
        asked += 1;
        Ok(json!({"$file": "07", "name": "a.txt"}))
    });
    let found = result.unwrap().unwrap();
    assert_eq!(
        (&found[0]["$file"], &found[1]["$file"], asked),
        (&json!("07"), &json!("07"), 1)
    );
}

#[test]
fn a_file_among_many_values_is_stored() {
    let source = "export default () => {
        const list = Array.from({length: 70_000}, (_, index) => index);
        list.push(new File(['a'], 'a.txt'));
        return list;
    }";
    let mut asked = 0;
    let (_, result) = run_with(source, json!({}), Limits::default(), |_, _| {
        asked += 1;
        Ok(json!({"$file": "07", "name": "a.txt"}))
    });
    let found = result.unwrap().unwrap();
    assert_eq!(found.as_array().map(Vec::len), Some(70_001));
    assert_eq!((&found[70_000]["$file"], asked), (&json!("07"), 1));
}

#[test]
fn a_file_that_can_not_be_stored_fails_the_code() {
    let source = "export default () => new File(['a'], 'a.txt')";
    let (_, result) = run_with(source, json!({}), Limits::default(), |_, _| {
        Err(("FILE_LIMIT", "no room"))
    });
    let failure = result.unwrap().unwrap_err();
    assert_eq!(failure["message"], "no room", "{failure}");
}

#[test]
fn a_file_is_the_body_of_a_request() {
    let source = "export default async ({input}) => {
        await fetch('http://a/', {method: 'POST', body: input});
        await fetch('http://a/', {method: 'POST', body: new File(['x'], 'x')});
    }";
    let mut bodies = Vec::new();
    let file = json!({"$file": "01", "name": "a.txt", "type": "text/plain"});
    let (_, result) = run_with(source, file.clone(), Limits::default(), |_, request| {
        bodies.push(request["body"].clone());
        Ok(json!({"status": 200, "headers": {}, "text": ""}))
    });
    result.unwrap().unwrap();
    assert_eq!(bodies, [json!({"file": file}), json!({"base64": "eA=="})]);
}

#[test]
fn a_form_is_the_body_of_a_request() {
    let source = "export default async ({input}) => {
        const form = new FormData();
        form.append('a \\\"b', 'one\\ntwo');
        form.append('made', new File(['x'], 'x.txt', {type: 'text/plain'}));
        form.append('stored', input);
        form.append('renamed', input, 'b.txt');
        await fetch('http://a/', {method: 'POST', body: form});
    }";
    let mut asked = Vec::new();
    let file = json!({"$file": "01", "name": "a.txt", "type": "text/plain"});
    let (_, result) = run_with(source, file.clone(), Limits::default(), |kind, request| {
        assert_eq!(kind, "http");
        asked.push(request.clone());
        Ok(json!({"status": 200, "headers": {}, "text": ""}))
    });
    result.unwrap().unwrap();
    let kind = asked[0]["headers"][0][1].as_str().unwrap();
    let boundary = kind.strip_prefix("multipart/form-data; boundary=").unwrap();
    assert_eq!(asked[0]["headers"][0][0], "content-type");
    let head = |begin: &str, name: &str, file: &str| {
        format!(
            "{begin}--{boundary}\r\nContent-Disposition: form-data; name=\"{name}\"; filename=\"{file}\"\r\n\
             Content-Type: text/plain\r\n\r\n"
        )
    };
    let field =
        format!("--{boundary}\r\nContent-Disposition: form-data; name=\"a %22b\"\r\n\r\none\r\ntwo\r\n");
    let renamed = json!({"$file": "01", "name": "b.txt", "type": "text/plain"});
    let expected = json!({"pieces": [
        {"text": head(&field, "made", "x.txt")},
        {"base64": "eA=="},
        {"text": head("\r\n", "stored", "a.txt")},
        {"file": file},
        {"text": head("\r\n", "renamed", "b.txt")},
        {"file": renamed},
        {"text": format!("\r\n--{boundary}--\r\n")},
    ]});
    assert_eq!(asked[0]["body"], expected);
}

#[test]
fn forms_are_those_of_the_standard() {
    for (code, expected) in [
        (
            "const form = new FormData(); form.append('a', 1); form.append('b', 'x'); form.append('a', null);
            return [[...form], form.get('a'), form.getAll('a'), form.get('c'), form.has('b')];",
            json!([[["a", "1"], ["b", "x"], ["a", "null"]], "1", ["1", "null"], null, true]),
        ),
        (
            "const form = new FormData(); form.append('a', 1); form.append('b', 2); form.append('a', 3);
            form.set('a', 4); form.set('c', 5); form.delete('b');
            return [[...form.entries()], [...form.keys()], [...form.values()]];",
            json!([[["a", "4"], ["c", "5"]], ["a", "c"], ["4", "5"]]),
        ),
        (
            "const form = new FormData(); form.append('a', new Blob(['xy'], {type: 'text/csv'})); form.append('a', new Blob(['z']), 'z.bin');
            const [one, other] = form.getAll('a');
            return [one instanceof File, one.name, one.type, await one.text(), other.name];",
            json!([true, "blob", "text/csv", "xy", "z.bin"]),
        ),
    ] {
        assert_eq!(body(code), expected, "{code}");
    }
    for (code, message) in [
        ("new FormData().append('a', 'b', 'c')", "only with a File or Blob"),
        ("new FormData({})", "takes nothing"),
        (
            "fetch('http://a/', {body: new FormData()})",
            "A GET request can't have a body",
        ),
        ("new Response(new FormData())", "can't be a response's body"),
    ] {
        let failure = run(&format!("export default () => {code}"), Value::Null).unwrap_err();
        let found = failure["message"].as_str().unwrap_or_default();
        assert!(found.contains(message), "{code}: {found}");
    }
}

#[test]
fn what_is_no_file_is_refused() {
    for (code, message) in [
        ("new File(['a'])", "takes the file's parts and its name"),
        ("new File('a', 'a')", "takes an array"),
        ("new File([input], 'a')", "read it first"),
        ("input.slice(1)", "read it first"),
        (
            "fetch('http://a/', {method: 'POST', body: Object.assign(input, {size: 5}).slice(1)})",
            "can't be sent: read it first",
        ),
        ("File.prototype.bytes.call({})", "not a file"),
    ] {
        let source = format!("export default async ({{input}}) => {{ await ({code}); }}");
        let failure = run(&source, json!({"$file": "01"})).unwrap_err();
        let found = failure["message"].as_str().unwrap_or_default();
        assert!(found.contains(message), "{code}: {failure}");
    }
}

#[test]
fn buffers_are_those_of_node() {
    for (code, expected) in [
        ("Buffer.from('größe').toString('hex')", json!("6772c3b6c39f65")),
        (
            "Buffer.from('Zm9v-_8', 'base64').toString('base64url')",
            json!("Zm9v-_8"),
        ),
        ("Buffer.from('Zm 9v\\n').toString('base64')", json!("Wm0gOXYK")),
        ("Buffer.from(' Zm\\n9v=x', 'base64').toString()", json!("foo")),
        (
            "Buffer.from('6a6g6b', 'hex')",
            json!({"type": "Buffer", "data": [0x6a]}),
        ),
        ("Buffer.from('ÿā', 'latin1').toString('hex')", json!("ff01")),
        ("Buffer.from('aé', 'utf16le').toString('ucs2')", json!("aé")),
        (
            "Buffer.concat([Buffer.from('a'), new Uint8Array([98]), Buffer.from([355])]).toString()",
            json!("abc"),
        ),
        ("Buffer.alloc(5, 'ab').toString('ascii')", json!("ababa")),
        ("Buffer.from('abc').equals(Buffer.from('abc'))", json!(true)),
        (
            "[Buffer.compare(Buffer.from('a'), Buffer.from('b')), Buffer.byteLength('ö'), Buffer.isBuffer(new Uint8Array(1))]",
            json!([-1, 2, false]),
        ),
        (
            "(() => { const a = Buffer.from('abc'); a.slice(1)[0] = 120; return a.toString('utf8', 1, 2); })()",
            json!("x"),
        ),
        (
            "(() => { const b = Buffer.alloc(8); b.writeUInt32BE(0xdeadbeef, 0); b.writeInt16LE(-2, 4); return [b.toString('hex'), b.readUInt16BE(0), b.readInt16LE(4), b.readUint8(3)]; })()",
            json!(["deadbeeffeff0000", 0xdead, -2, 0xef]),
        ),
        (
            "[Buffer.from('hello').indexOf('l'), Buffer.from('hello').includes('lo'), Buffer.from('a').indexOf('b')]",
            json!([2, true, -1]),
        ),
        (
            "JSON.stringify(Buffer.from('a'))",
            json!("{\"type\":\"Buffer\",\"data\":[97]}"),
        ),
        (
            "(() => { try { Buffer.from('a', 'utf7'); } catch (error) { return error.message; } })()",
            json!("Unknown encoding: utf7"),
        ),
        (
            "(() => { try { Buffer.alloc(1).readUInt32LE(0); } catch (error) { return error.name; } })()",
            json!("RangeError"),
        ),
        (
            "(() => { const b = Buffer.alloc(4); return [b.write('öab', 1), b.toString('hex'), Buffer.from('abcd').copy(b, 2, 1), b.toString('latin1', 2)]; })()",
            json!([3, "00c3b661", 2, "bc"]),
        ),
        (
            "[...Buffer.from('ab').map((byte) => byte + 1)].join()",
            json!("98,99"),
        ),
    ] {
        assert_eq!(body(&format!("return {code}")), expected, "{code}");
    }
}
