//! Nodes that make files of items, and items of files.

use crate::built::Translation;
use crate::kinds::makes_one_file;
use crate::scene::Scene;
use serde_json::{Value, json};

/// All items, also of a single one.
const ALL: &str = "{{ $input.all() }}";
const FILES: &str =
    "the file is the item itself, `{$file, name, type, size}`, not under `$binary`, and its name is `name`";

pub(super) fn convert(scene: &Scene<'_>) -> Translation {
    let node = scene.node;
    match node.choice(&["operation"], "csv") {
        "xlsx" => workbook(scene),
        "csv" => table(scene),
        "toJson" if makes_one_file(node) => Translation::whole(
            "ConvertFile",
            json!({"value": ALL, "to": "json", "name": name(scene, "File.json")}),
        )
        .differs("files", FILES),
        "toJson" => Translation::each(
            "File",
            json!({"operation": "make", "format": "json", "content": item(scene), "name": name(scene, "File.json")}),
        )
        .differs("files", FILES),
        "toText" => match field(scene, "sourceProperty") {
            Some(content) => Translation::each(
                "File",
                json!({"operation": "make", "content": content, "name": name(scene, "file.txt")}),
            )
            .differs("files", FILES),
            None => Translation::stub("the field with the text is computed or missing"),
        },
        "toBinary" => match field(scene, "sourceProperty") {
            Some(content) => Translation::each(
                "File",
                json!({"operation": "make", "format": "base64", "content": content, "name": name(scene, "File")}),
            )
            .differs("files", FILES),
            None => Translation::stub("the field with the base64 is computed or missing"),
        },
        other => Translation::stub(format!("files of the kind `{other}` are not written")),
    }
}

pub(super) fn extract(scene: &Scene<'_>) -> Translation {
    let node = scene.node;
    let read = |format: &str| {
        let key = match node.choice(&["destinationKey"], "data") {
            "" => "data",
            key => key,
        };
        match key.starts_with('=') {
            true => Translation::stub("the name of the field is computed"),
            false => Translation::each("File", json!({"file": item(scene), "format": format}))
                .then("Transform", json!({"value": {key: "{{ $input }}"}}), true)
                .differs("files", FILES),
        }
    };
    match node.choice(&["operation"], "csv") {
        "xlsx" => rows_of_workbook(scene),
        "csv" => rows_of_table(scene),
        "pdf" => pages(scene),
        "fromJson" => read("json"),
        "text" | "xml" => read("text"),
        "binaryToPropery" => read("base64"),
        other => Translation::stub(format!("files of the kind `{other}` are not read")),
    }
}

pub(super) fn spreadsheet(scene: &Scene<'_>) -> Translation {
    let node = scene.node;
    let writes = makes_one_file(node);
    match (
        node.choice(&["fileFormat"], if writes { "xls" } else { "autodetect" }),
        writes,
    ) {
        ("xlsx", true) => workbook(scene),
        ("csv", true) => table(scene),
        ("csv", false) => rows_of_table(scene),
        ("xlsx", false) => rows_of_workbook(scene),
        ("autodetect", false) => rows_of_any(scene),
        (other, _) => Translation::stub(format!(
            "spreadsheets of the kind `{other}` are neither read nor written"
        )),
    }
}

/// The first node for files that n8n had, from a time before files were made and read by nodes of their own.
pub(super) fn moved(scene: &Scene<'_>) -> Translation {
    let node = scene.node;
    let encoding = match node.choice(&["options", "encoding"], "utf8") {
        "" => "utf8",
        encoding => encoding,
    };
    match (node.choice(&["mode"], "binaryToJson"), encoding) {
        ("binaryToJson", encoding) => read_of(scene, encoding),
        ("jsonToBinary", "utf8") => made_of(scene),
        (_, other) => Translation::stub(format!("text in `{other}` is neither read nor written")),
    }
}

fn read_of(scene: &Scene<'_>, encoding: &str) -> Translation {
    let node = scene.node;
    let is_on = |name: &str| node.flag(&["options", name], false);
    let read = |format: &str| Translation::each("File", json!({"file": item(scene), "format": format}));
    if node.flag(&["setAllData"], true) {
        return match encoding {
            "utf8" => read("json").differs("files", FILES),
            other => Translation::stub(format!("text in `{other}` is not read")),
        };
    }
    let key = node.choice(&["destinationKey"], "data");
    if key.is_empty() || key.starts_with('=') || key.contains(['.', '[']) {
        return Translation::stub("the name of the field is computed or a path");
    }
    let format = match (encoding, is_on("keepAsBase64"), is_on("jsonParse")) {
        (_, true, false) | ("base64", false, false) => "base64",
        ("utf8", false, true) => "json",
        ("utf8", false, false) => "text",
        (other, ..) => return Translation::stub(format!("text in `{other}` is not read")),
    };
    read(format)
        .then("Transform", json!({"value": {key: "{{ $input }}"}}), true)
        .differs("files", FILES)
}

fn made_of(scene: &Scene<'_>) -> Translation {
    let node = scene.node;
    let is_on = |name: &str| node.flag(&["options", name], false);
    let is_part = !node.flag(&["convertAllData"], true);
    let content = match is_part {
        true => field_of(scene, node.choice(&["sourceKey"], "data")),
        false => Some(item(scene)),
    };
    let Some(content) = content else {
        return Translation::stub("the field with the content is computed or missing");
    };
    let (format, default) = match (is_on("dataIsBase64"), is_on("useRawData")) {
        (true, _) if is_part => (Some("base64"), "file"),
        (_, true) if is_part => (None, "file.txt"),
        _ => (Some("json"), "file.json"),
    };
    let mut parameters = json!({"operation": "make", "content": content, "name": name(scene, default)});
    if let Some(format) = format {
        parameters["format"] = format.into();
    }
    if let Some(kind) = option(scene, "mimeType") {
        parameters["type"] = kind;
    }
    Translation::each("File", parameters)
        .differs("files", FILES)
        .differs_if(
            is_on("keepSource") || is_part,
            "fields",
            "the fields of the item are not kept beside the file",
        )
}

/// Pictures: their size, or another one.
pub(super) fn picture(scene: &Scene<'_>) -> Translation {
    let node = scene.node;
    match node.choice(&["operation"], "border") {
        "information" => Translation::each("Image", json!({"value": item(scene)}))
            .differs("files", FILES)
            .differs(
                "information",
                "the result is `{format, type, width, height}`, for a JPEG also `orientation`; n8n's other fields are missing",
            ),
        "resize" => resized(scene),
        other => Translation::stub(format!(
            "heddle resizes pictures and converts them; it has nothing like `{other}`"
        )),
    }
}

fn resized(scene: &Scene<'_>) -> Translation {
    let node = scene.node;
    let wanted = node.choice(&["resizeOption"], "maximumArea");
    let (fit, only_larger) = match wanted {
        "ignoreAspectRatio" => ("fill", false),
        "maximumArea" => ("inside", false),
        "onlyIfLarger" => ("inside", true),
        other => return Translation::stub(format!("pictures are not resized as `{other}`")),
    };
    let mut parameters = json!({"operation": "convert", "value": item(scene), "fit": fit});
    for side in ["width", "height"] {
        parameters[side] = match node.parameter(&[side]) {
            Value::Null => json!(500),
            _ => scene.of(&[side]),
        };
    }
    if only_larger {
        parameters["withoutEnlargement"] = true.into();
    }
    match node.text(&["options", "format"]) {
        "" => {}
        format @ ("png" | "jpeg" | "webp") => parameters["format"] = format.into(),
        other => return Translation::stub(format!("pictures of the kind `{other}` are not written")),
    }
    if let Some(quality @ 1..=100) = node.parameter(&["options", "quality"]).as_u64() {
        parameters["quality"] = quality.into();
    }
    if let Some(name) = option(scene, "fileName") {
        parameters["name"] = name;
    }
    Translation::each("Image", parameters)
        .differs("files", FILES)
        .differs(
            "picture",
            "the first frame becomes a PNG, JPEG or WebP without metadata, and a photo is turned upright",
        )
        .differs_if(
            wanted == "maximumArea",
            "area",
            "it becomes as large as fits within width and height; n8n gives it as many pixels as width times height",
        )
}

/// Text with expressions in an option, unless it is missing or empty.
fn option(scene: &Scene<'_>, name: &str) -> Option<Value> {
    let path = ["options", name];
    (!scene.node.text(&path).is_empty()).then(|| scene.of(&path))
}

fn name(scene: &Scene<'_>, default: &str) -> Value {
    option(scene, "fileName").unwrap_or_else(|| default.into())
}

fn has_header(scene: &Scene<'_>) -> bool {
    scene.node.flag(&["options", "headerRow"], true)
}

fn item(scene: &Scene<'_>) -> Value {
    scene.value(&"={{ $json }}".into())
}

/// A field of the item whose name is a parameter.
fn field(scene: &Scene<'_>, parameter: &str) -> Option<Value> {
    field_of(scene, scene.node.text(&[parameter]))
}

fn field_of(scene: &Scene<'_>, name: &str) -> Option<Value> {
    let is_plain = !name.is_empty() && !name.starts_with('=');
    let path: String = name
        .split('.')
        .map(|part| format!("?.[{}]", crate::expression::quoted(part)))
        .collect();
    is_plain.then(|| scene.value(&format!("={{{{ $json{path} }}}}").into()))
}

fn workbook(scene: &Scene<'_>) -> Translation {
    let sheet = option(scene, "sheetName").unwrap_or_else(|| "Sheet".into());
    Translation::whole(
        "Xlsx",
        json!({"operation": "write", "value": ALL, "sheet": sheet, "header": has_header(scene), "dates": false, "flatten": true,
            "name": name(scene, "File.xlsx")}),
    )
    .differs("files", FILES)
}

fn table(scene: &Scene<'_>) -> Translation {
    let mut parameters =
        json!({"value": ALL, "to": "csv", "header": has_header(scene), "name": name(scene, "File.csv")});
    if let Some(delimiter) = option(scene, "delimiter") {
        parameters["delimiter"] = delimiter;
    }
    Translation::whole("ConvertFile", parameters)
        .differs("files", FILES)
        .differs(
            "columns",
            "the columns are the fields of the first item: if others have more, name all by `columns`; objects are JSON in their cells",
        )
}

fn rows_of_workbook(scene: &Scene<'_>) -> Translation {
    let mut parameters = json!({"value": item(scene), "header": has_header(scene)});
    if let Some(sheet) = option(scene, "sheetName") {
        parameters["sheet"] = sheet;
    }
    Translation::each("Xlsx", parameters)
        .differs("files", FILES)
        .differs_if(
            option(scene, "range").is_some(),
            "range",
            "the whole sheet is read: leave out rows by `skip` and `limit`",
        )
        .differs("cells", "dates are ISO 8601 texts, and empty cells are null")
}

/// Reads rows of a workbook or of CSV, by the file's name or type.
fn rows_of_any(scene: &Scene<'_>) -> Translation {
    let mut parameters = json!({"value": item(scene), "header": has_header(scene)});
    if let Some(sheet) = option(scene, "sheetName") {
        parameters["sheet"] = sheet;
    }
    Translation::each("ConvertFile", parameters)
        .differs("files", FILES)
        .differs(
            "format",
            "the file's name or type must tell that it is a workbook (.xlsx) or CSV: set `from` where they don't",
        )
        .differs(
            "cells",
            "cells of CSV are text; of a workbook, dates are ISO 8601 texts, and empty cells are null",
        )
}

pub(super) fn pages(scene: &Scene<'_>) -> Translation {
    let node = scene.node;
    let joined = node.flag(&["options", "joinPages"], true);
    let mut parameters = json!({"value": item(scene), "perPage": !joined});
    if let Some(limit) = node
        .parameter(&["options", "maxPages"])
        .as_u64()
        .filter(|limit| *limit > 0)
    {
        parameters["limit"] = limit.into();
    }
    let text = if joined {
        "{{ $input.text }}"
    } else {
        "{{ $input.pages }}"
    };
    let fields = json!({"numpages": "{{ $input.pageCount }}", "info": "{{ $input.info }}", "text": text, "version": "{{ $input.version }}"});
    Translation::each("Pdf", parameters)
        .then("Transform", json!({"value": fields}), true)
        .differs("files", FILES)
        .differs(
            "pdf",
            "spaces and lines may be in other places, there is no `metadata`, and files with a password can't be read",
        )
}

fn rows_of_table(scene: &Scene<'_>) -> Translation {
    let mut parameters = json!({"value": item(scene), "from": "csv", "header": has_header(scene)});
    if let Some(delimiter) = option(scene, "delimiter") {
        parameters["delimiter"] = delimiter;
    }
    Translation::each("ConvertFile", parameters)
        .differs("files", FILES)
        .differs("cells", "every cell is text, and the text is read as UTF-8")
}
